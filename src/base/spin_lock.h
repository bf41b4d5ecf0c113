// A lock for a few instructions, never held across a suspension, a system call or user code.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/thread_safety.h"

namespace musubi {

class MUSUBI_LOCK_TYPE SpinLock {
 public:
  void lock() noexcept MUSUBI_ACQUIRE() {
    // The holder may have lost its processor: after a short spin give it ours.
    for (unsigned spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++spins > 64) ::sched_yield();
      }
    }
  }
  bool try_lock() noexcept MUSUBI_TRY_ACQUIRE(true) {
    return !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept MUSUBI_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace musubi
