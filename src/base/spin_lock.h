// A lock for a few instructions, never held across a suspension, a system call or user code.
#pragma once

#include <sched.h>

#include <atomic>

namespace musubi {

class SpinLock {
 public:
  void lock() noexcept {
    // The holder may have lost its processor: after a short spin give it ours.
    for (unsigned spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++spins > 64) ::sched_yield();
      }
    }
  }
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace musubi
