// How a thread waits. Measured on two cores: if every thread has a core, a spinning barrier takes 0.4 us and
// a futex 20 us. If threads outnumber the cores, spinning takes 22 ms (whole scheduler slices), and 50 yields
// followed by a futex 3 us. Yields end early while other programs compute (os/yield_meter.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::fabric {

struct WaitingPolicy {
  std::uint32_t spin_checks = 0;  // polls with a pause between them
  std::uint32_t yields = 0;       // then polls with a sched_yield between them; then sleep
};

// The policy for `threads_on_host` threads (ranks x threads per rank) that share `cores`.
constexpr WaitingPolicy waiting_policy(std::uint32_t threads_on_host, std::uint32_t cores) noexcept {
  if (threads_on_host <= cores) return WaitingPolicy{.spin_checks = 2000, .yields = 0};
  return WaitingPolicy{.spin_checks = 0, .yields = 50};
}

// A driver in which threads sleep for another driver of the rank, too. Its own arrivals wake them through its
// kernel object; the other driver wakes them by ropes: files that any process of the host can write to. Any
// thread, signal-safe.
class JointSleep : public Fabric {
 public:
  // The bell of a thread that waits for `ready`; read it before the last progress(): wake() changes it.
  virtual std::uint32_t bell_of(const std::atomic<bool>& ready) const noexcept = 0;
  // Blocks until something may have arrived in the driver, `ready` is true, the bell differs from `seen`, or
  // the waiters' rope was pulled. Spurious returns are allowed. One pull makes one thread return, which polls
  // for all of them.
  virtual void sleep(const std::atomic<bool>& ready, std::uint32_t seen) noexcept = 0;

  // Files of this process: another process opens them by os::WakeupPipe::open_write_end_of and pulls by
  // os::WakeupPipe::ring_by. The service thread's rope ends wait_for_service(), too.
  virtual int waiters_rope() const noexcept = 0;
  virtual int service_rope() const noexcept = 0;
};

// The scope in which a thread polls for arrivals itself; ends with this object. `Attended` has
// begin_polling() and end_polling(), as Fabric does.
template <typename Attended>
class PollScope {
 public:
  // Null: no effect.
  explicit PollScope(Attended* attended) noexcept : attended_(attended) {}
  PollScope(const PollScope&) = delete;
  ~PollScope() {
    if (has_told_) attended_->end_polling();
  }
  // Idempotent.
  void begin() noexcept {
    if (has_told_ || attended_ == nullptr) return;
    has_told_ = true;
    attended_->begin_polling();
  }

 private:
  Attended* const attended_;
  bool has_told_ = false;
};

}  // namespace musubi::fabric
