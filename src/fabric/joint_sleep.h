// How a thread sleeps for two drivers of a rank at once. One driver implements this interface, and the thread
// sleeps in it, woken by arrivals through its kernel object. The other driver wakes it by ropes: files that
// any process of the host can write to.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::fabric {

// The functions correspond to those of Fabric: any thread, signal-safe.
class JointSleep {
 public:
  // Delivers arrivals of the driver that sleeps. Result: whether there were any.
  virtual bool look() noexcept = 0;
  // The calling thread polls by look() until end_looks(), so arrivals need not wake the service thread.
  virtual void begin_looks() noexcept = 0;
  virtual void end_looks() noexcept = 0;
  // The bell of a thread that waits for `ready`; read it before the last look(): rouse() changes it.
  virtual std::uint32_t bell_of(const std::atomic<bool>& ready) const noexcept = 0;
  // Blocks until something may have arrived in the driver, `ready` is true, the bell differs from `seen`, or
  // the waiters' rope was pulled. Spurious returns are allowed. One pull makes one thread return, which looks
  // for all of them.
  virtual void sleep(const std::atomic<bool>& ready, std::uint32_t seen) noexcept = 0;
  // The service thread's sleep; its own rope ends it, too.
  virtual void sleep_as_service() noexcept = 0;
  // Makes every thread return from sleep().
  virtual void rouse() noexcept = 0;

  // Files of this process: another process opens them by os::WakeupPipe::open_write_end_of and pulls by
  // os::WakeupPipe::ring_by.
  virtual int waiters_rope() const noexcept = 0;
  virtual int service_rope() const noexcept = 0;

 protected:
  ~JointSleep() = default;
};

}  // namespace musubi::fabric
