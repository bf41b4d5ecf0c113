// Drives the tasks of one thread to their ends over a fabric, as production does: progress, and sleep when
// idle.
#pragma once

#include <sched.h>

#include <atomic>
#include <coroutine>
#include <mutex>
#include <vector>

#include "base/event.h"
#include "base/task.h"
#include "fabric/fabric.h"

namespace musubi::fabric::conformance {

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(Fabric& fabric) : fabric_(fabric) {}

  // Until the task is done or `give_up` is set.
  void drive(Task<>& task, const std::atomic<bool>& give_up) {
    task.start(*this, nullptr);
    while (!task.done() && !give_up.load()) {
      const bool progressed = fabric_.progress();
      if (!resume_ready() && !progressed) fabric_.wait(has_ready_);
    }
  }

  // After the unlock the task may end, and with it the executor.
  void ready(std::coroutine_handle<> task) noexcept override {
    Fabric& fabric = fabric_;
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(task);
      has_ready_.store(true);
    }
    fabric.wake();
  }
  void ready_after_pause(std::coroutine_handle<> task, unsigned) noexcept override {
    ::sched_yield();
    const std::lock_guard lock(mutex_);
    ready_.push_back(task);
    has_ready_.store(true);
  }

 private:
  bool resume_ready() {
    std::vector<std::coroutine_handle<>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(ready_);
      has_ready_.store(false);
    }
    for (auto task : tasks) task.resume();
    return !tasks.empty();
  }

  Fabric& fabric_;
  std::mutex mutex_;
  std::vector<std::coroutine_handle<>> ready_;
  std::atomic<bool> has_ready_{false};
};

}  // namespace musubi::fabric::conformance
