// std::mutex and std::condition_variable with annotations for clang's thread-safety analysis. May block in
// the kernel: not for signal handlers.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/thread_safety.h"

namespace musubi {

class MUSUBI_LOCK_TYPE Mutex {
 public:
  void lock() MUSUBI_ACQUIRE() { mutex_.lock(); }
  void unlock() MUSUBI_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class Condition {
 public:
  // Releases the mutex while it waits. May return spuriously: test the condition again.
  void wait(Mutex& mutex) MUSUBI_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }
  void notify_one() noexcept { condition_.notify_one(); }

 private:
  std::condition_variable condition_;
};

}  // namespace musubi
