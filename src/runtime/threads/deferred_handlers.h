// Handlers of the program on threads inside the runtime: a handler that touches shared memory could wait for
// ever for a gate that the interrupted code holds, and would use its memory for frames.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "os/signal_calls.h"

namespace musubi::runtime {

// Defers handlers from the first step into the runtime to the last one out of it. No system call unless a
// signal arrives. Every way into the runtime has one (JobThreads::executor).
class DeferredHandlers {
 public:
  DeferredHandlers() noexcept { ++depth_; }
  ~DeferredHandlers() {
    if (--depth_ == 0 && deferred_.count != 0) [[unlikely]]
      send_deferred();
  }
  DeferredHandlers(const DeferredHandlers&) = delete;
  DeferredHandlers& operator=(const DeferredHandlers&) = delete;

  // Whether the calling thread is inside the runtime. Signal-safe.
  static bool is_inside() noexcept { return depth_ != 0; }
  // For the function that the kernel calls in place of the program's handlers. True if the runtime was
  // interrupted: then `signal` is delivered again afterwards, and the mask in `context` blocks all other
  // handled signals until then. Signal-safe.
  static bool defer(int signal, const siginfo_t& information, ucontext_t& context) noexcept;

 private:
  static void send_deferred() noexcept;

  // Different signals may arrive nested; the first that runs here blocks all further ones.
  struct Deferred {
    std::array<siginfo_t, 4> signals;
    std::size_t count;
    os::SignalBits blocked;  // blocked because of them
  };
  static constinit thread_local int depth_;
  static constinit thread_local Deferred deferred_;
};

// In addition, while a thread may wait: blocks signals, so that the kernel gives signals of the process to
// other threads at once. Costs nothing in a program without handlers, and otherwise two system calls.
class BlockedHandlers {
 public:
  BlockedHandlers() noexcept;
  ~BlockedHandlers();
  BlockedHandlers(const BlockedHandlers&) = delete;
  BlockedHandlers& operator=(const BlockedHandlers&) = delete;

  // The calling thread runs main from now on. Once.
  static void note_main() noexcept { is_main_ = true; }
  // Signals that main blocks here and would take otherwise. Any thread.
  static os::SignalBits of_main() noexcept { return of_main_.load(std::memory_order_relaxed); }

 private:
  static constinit thread_local bool is_main_;
  static constinit std::atomic<os::SignalBits> of_main_;

  const DeferredHandlers deferred_;
  bool any_ = false;
  os::SignalBits mask_before_ = 0;
};

}  // namespace musubi::runtime
