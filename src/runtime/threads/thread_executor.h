// The executor of one thread: drives the tasks that the thread starts to their ends, and waits politely in
// between.
#pragma once

#include <atomic>
#include <coroutine>

#include "base/executor.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "os/yield_meter.h"
#include "runtime/threads/held_handlers.h"
#include "trace/counters.h"

namespace musubi::runtime {

class ThreadExecutor final : public Executor {
 public:
  // How pauses let others run. A thread that yields gives its core away for a slice where threads that
  // compute or spin take all cores; one that has slept comes back at once.
  enum class Pauses : std::uint8_t { yield, sleep };

  ThreadExecutor(fabric::Fabric& fabric, trace::Counters& counters, Pauses pauses = Pauses::yield)
      : fabric_(fabric), counters_(counters), pauses_(pauses) {}

  // The calling thread's, for the rank of this process; made at the first call, without malloc, and kept
  // until forget_this_thread(). Also inside faults.
  static ThreadExecutor& of_this_thread(fabric::Fabric& fabric, trace::Counters& counters) noexcept;
  // The thread is about to end, and none of its tasks is under way.
  static void forget_this_thread() noexcept;

  void ready(std::coroutine_handle<> task) noexcept override;
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override;

  // Runs `task` to its end; blocks politely. This and the following: on this executor's thread, not from
  // inside one of its tasks.
  template <class T>
  T run(Task<T> task) {
    const HandlersHeldBack handlers;
    task.start(*this, nullptr);
    while (!task.done()) drive();
    return task.result();
  }
  // Starts `task`, and leaves it where it first has to wait. It goes on inside all of these calls.
  void start(Task<>& task) {
    const HandlersHeldBack handlers;
    task.start(*this, nullptr);
  }
  // Blocks until a task that was started has ended.
  void finish(Task<>& task) {
    const HandlersHeldBack handlers;
    while (!task.done()) drive();
  }
  // Lets go on what can, without waiting.
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
  SpinLock lock_;  // of the queue
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> waiting_{false};
  unsigned pause_attempt_ = 0;
  os::YieldMeter yields_;
};

}  // namespace musubi::runtime
