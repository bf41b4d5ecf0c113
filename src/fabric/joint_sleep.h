// How one thread sleeps for two drivers of a rank at once: one of them waits for both, and sleeps by this, in
// the other. The other has what its kernel object tells it; calls for the first come by ropes, which any
// process of the host can pull.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::fabric {

// As Fabric's functions of like names: any thread, signal-safe.
class JointSleep {
 public:
  // Delivers what has arrived in the driver that sleeps. Result: whether there was anything.
  virtual bool look() noexcept = 0;
  // The calling thread is about to look() again and again, until end_looks(): what arrives need not wake the
  // service thread.
  virtual void begin_looks() noexcept = 0;
  virtual void end_looks() noexcept = 0;
  // Of a thread that waits for `ready`; to be read before the last look: rouse() changes it.
  virtual std::uint32_t bell_of(const std::atomic<bool>& ready) const noexcept = 0;
  // Sleeps until something may have arrived in the driver, `ready` is true, the bell differs from `seen`, or
  // the waiters' rope was pulled. Spurious returns are allowed. For any number of threads one pull is one
  // return: that thread looks for all.
  virtual void sleep(const std::atomic<bool>& ready, std::uint32_t seen) noexcept = 0;
  // The service thread's sleep; ends by its own rope, too.
  virtual void sleep_as_service() noexcept = 0;
  // Makes every thread return from sleep().
  virtual void rouse() noexcept = 0;

  // Files of this process: os::Bell::open_rope_of opens them in another one, os::Bell::ring_by pulls.
  virtual int waiters_rope() const noexcept = 0;
  virtual int service_rope() const noexcept = 0;

 protected:
  ~JointSleep() = default;
};

}  // namespace musubi::fabric
