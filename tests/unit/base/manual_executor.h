// The simplest executor for tests: resumes tasks in order on request, on the calling thread.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>

#include "base/event.h"

namespace musubi {

class ManualExecutor final : public Executor {
 public:
  void ready(std::coroutine_handle<> task) noexcept override { tasks_.push_back(task); }
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override {
    last_attempt = attempt;
    ++pauses;
    tasks_.push_back(task);
  }
  // Result: the number of tasks resumed.
  std::size_t run() {
    std::size_t resumed = 0;
    for (; !tasks_.empty(); ++resumed) {
      const auto task = tasks_.front();
      tasks_.pop_front();
      task.resume();
    }
    return resumed;
  }

  unsigned pauses = 0;
  unsigned last_attempt = 0;

 private:
  std::deque<std::coroutine_handle<>> tasks_;
};

}  // namespace musubi
