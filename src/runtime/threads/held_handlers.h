// Handlers of the program and the runtime on one thread: a handler that touches shared memory would wait for
// ever for a gate that the interrupted code holds, and would use its memory for frames.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "os/signal_calls.h"

namespace musubi::runtime {

// From the first step into the runtime to the last one out of it: a handler that comes waits until then. No
// system call unless one comes. Every way into the runtime has one (JobThreads::executor).
class HandlersPostponed {
 public:
  HandlersPostponed() noexcept { ++depth_; }
  ~HandlersPostponed() {
    if (--depth_ == 0 && postponed_.count != 0) [[unlikely]]
      send_postponed();
  }
  HandlersPostponed(const HandlersPostponed&) = delete;
  HandlersPostponed& operator=(const HandlersPostponed&) = delete;

  // Whether the calling thread is inside. Signal-safe.
  static bool is_inside() noexcept { return depth_ != 0; }
  // For the function that the kernel calls in place of the program's handlers. True when the calling thread
  // was interrupted in the runtime: then `signal` comes again afterwards, and in `context` the others wait
  // with it. Signal-safe.
  static bool postpone(int signal, const siginfo_t& information, ucontext_t& context) noexcept;

 private:
  static void send_postponed() noexcept;

  // Different signals may come at once, one on top of the other; the first that runs has the others blocked.
  struct Postponed {
    std::array<siginfo_t, 4> signals;
    std::size_t count;
    os::SignalBits blocked;  // for their sake
  };
  static constinit thread_local int depth_;
  static constinit thread_local Postponed postponed_;
};

// In addition, for as long as a thread may wait: the kernel gives signals of the process to threads that take
// them at once. Costs nothing in a program without handlers, and two system calls in others.
class HandlersHeldBack {
 public:
  HandlersHeldBack() noexcept;
  ~HandlersHeldBack();
  HandlersHeldBack(const HandlersHeldBack&) = delete;
  HandlersHeldBack& operator=(const HandlersHeldBack&) = delete;

  // The calling thread runs main from now on. Once.
  static void note_main() noexcept { is_main_ = true; }
  // What main holds back now, and would take otherwise. Any thread.
  static os::SignalBits of_main() noexcept { return of_main_.load(std::memory_order_relaxed); }

 private:
  static constinit thread_local bool is_main_;
  static constinit std::atomic<os::SignalBits> of_main_;

  const HandlersPostponed postponed_;
  bool any_ = false;
  os::SignalBits mask_before_ = 0;
};

}  // namespace musubi::runtime
