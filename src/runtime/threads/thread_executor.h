// The executor of one thread: runs the tasks that the thread starts to completion, and waits politely in
// between.
#pragma once

#include <atomic>
#include <coroutine>

#include "base/event.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "os/yield_meter.h"
#include "runtime/threads/deferred_handlers.h"
#include "trace/counters.h"

namespace musubi::runtime {

class ThreadExecutor final : public Executor {
 public:
  // How a pause gives the core to other threads. A thread that yields loses a whole time slice if computing
  // or spinning threads take all cores; a thread that has slept is scheduled at once.
  enum class Pauses : std::uint8_t { yield, sleep };

  ThreadExecutor(fabric::Fabric& fabric, trace::Counters& counters, Pauses pauses = Pauses::yield)
      : fabric_(fabric), counters_(counters), pauses_(pauses) {}

  // The calling thread's executor, for the rank of this process; made at the first call, without malloc, and
  // kept until forget_this_thread(). Also inside faults.
  static ThreadExecutor& of_this_thread(fabric::Fabric& fabric, trace::Counters& counters) noexcept;
  // The thread is about to end, with no task in progress.
  static void forget_this_thread() noexcept;

  void ready(std::coroutine_handle<> task) noexcept override;
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override;

  // Runs `task` to completion; blocks politely. This function and the following: on this executor's thread,
  // not from inside one of its tasks.
  template <class T>
  T run(Task<T> task) {
    const BlockedHandlers handlers;
    task.start(*this, nullptr);
    while (!task.done()) drive();
    return task.result();
  }
  // Starts `task`, up to its first wait. It continues during any of these calls.
  void start(Task<>& task) {
    const BlockedHandlers handlers;
    task.start(*this, nullptr);
  }
  // Blocks until a started task has ended.
  void finish(Task<>& task) {
    const BlockedHandlers handlers;
    while (!task.done()) drive();
  }
  // Resumes tasks that are ready, without waiting.
  void poll() noexcept;

 private:
  struct Node {
    std::coroutine_handle<> task;
    Node* next;
  };

  void drive() noexcept;
  void pause(unsigned attempt) noexcept;
  bool resume_ready() noexcept;
  bool append(std::coroutine_handle<> task) noexcept;

  fabric::Fabric& fabric_;
  trace::Counters& counters_;
  const Pauses pauses_;
  SpinLock lock_;  // guards the queue
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> waiting_{false};
  unsigned pause_attempt_ = 0;
  os::YieldMeter yields_;
};

}  // namespace musubi::runtime
