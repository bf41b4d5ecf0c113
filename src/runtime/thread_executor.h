// The executor of one thread: drives the tasks that the thread starts to their ends, and waits politely in
// between.
#pragma once

#include <atomic>
#include <coroutine>

#include "base/executor.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "os/signal_calls.h"
#include "os/yield_meter.h"
#include "trace/counters.h"

namespace musubi::runtime {

// Holds back the signals for which the program has handlers. Otherwise a handler that touches shared memory
// on this thread would wait for ever for a gate that the interrupted code holds. Costs nothing in a program
// without handlers.
class HandlersHeldBack {
 public:
  HandlersHeldBack() noexcept;
  ~HandlersHeldBack() {
    if (any_) os::set_signal_mask(SIG_SETMASK, mask_before_);
    if (--depth_ == 0 && postponed_ != 0) [[unlikely]] {
      send_postponed();
    }
  }
  HandlersHeldBack(const HandlersHeldBack&) = delete;

  // For a handler that another rank has installed since this thread began to hold signals back. True when the
  // calling thread holds handlers back: then `signal` comes again afterwards. Signal-safe.
  static bool postpone(int signal) noexcept {
    if (depth_ != 0) postponed_ |= os::signal_bit(signal);
    return depth_ != 0;
  }

 private:
  static void send_postponed() noexcept;

  static constinit thread_local int depth_;
  static constinit thread_local os::SignalBits postponed_;
  bool any_ = false;
  os::SignalBits mask_before_ = 0;
};

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
