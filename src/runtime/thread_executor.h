// The executor of one thread: drives the tasks that the thread starts to their ends, and waits politely in between.
#pragma once

#include <atomic>
#include <coroutine>

#include "base/executor.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "trace/counters.h"

namespace musubi::runtime {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(fabric::Fabric& fabric, trace::Counters& counters) : fabric_(fabric), counters_(counters) {}

  void ready(std::coroutine_handle<> task) noexcept override;
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override;

  // Runs `task` to its end; blocks politely. On this executor's thread, not from inside one of its tasks.
  template <class T>
  T run(Task<T> task) {
    task.start(*this, nullptr);
    while (!task.done()) drive();
    return task.result();
  }

 private:
  struct Node {
    std::coroutine_handle<> task;
    Node* next;
  };

  void drive() noexcept;
  bool resume_ready() noexcept;
  void append(std::coroutine_handle<> task) noexcept;

  fabric::Fabric& fabric_;
  trace::Counters& counters_;
  SpinLock lock_;  // of the queue
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> waiting_{false};
  unsigned pause_attempt_ = 0;
};

}  // namespace musubi::runtime
