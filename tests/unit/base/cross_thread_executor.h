// An executor of one thread, whose task other threads make ready. The thread yields until then.
#pragma once

#include <sched.h>

#include <atomic>
#include <coroutine>

#include "base/event.h"
#include "base/task.h"

namespace musubi {

class CrossThreadExecutor final : public Executor {
 public:
  void ready(std::coroutine_handle<> task) noexcept override { ready_.store(task.address()); }
  void ready_after_pause(std::coroutine_handle<> task, unsigned) noexcept override { ready(task); }
  void run_until_done(Task<>& task) {
    while (!task.done()) {
      if (void* address = ready_.exchange(nullptr)) {
        std::coroutine_handle<>::from_address(address).resume();
      } else {
        ::sched_yield();
      }
    }
  }

 private:
  std::atomic<void*> ready_{nullptr};
};

}  // namespace musubi
