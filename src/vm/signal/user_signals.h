// The program's own signal handlers. The runtime handles some signals itself; the program still sees its own
// settings, and its handlers are called for signals that turn out not to be the runtime's.
//
// An interposer exports sigaction, signal, sigprocmask, pthread_sigmask and sigaltstack to the program and
// calls the functions of the same meaning here.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"
#include "os/signal_calls.h"
#include "os/signal_frame.h"

namespace musubi::vm {

class UserSignals {
 public:
  // Never blocked for the program: a fault of shared memory, or a patched atomic, would kill it.
  static constexpr os::SignalBits protected_signals =
      os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) | os::signal_bit(SIGTRAP);

  // ---- For the interposer: results and errno as those of the C library. Any thread.

  // For signals that the runtime owns, only the record changes. Handlers of other signals run on the
  // alternate stack, because the thread's own stack may be closed shared memory, and never block the
  // protected signals.
  int action(int signal, const struct sigaction* set, struct sigaction* old) noexcept;
  // signal(3) of BSD and glibc: the handler stays installed, interrupted calls restart.
  sighandler_t handler(int signal, sighandler_t function) noexcept;
  // pthread_sigmask(3): 0 or an error number; sigprocmask(2) is built on it. The program sees the mask that
  // it set.
  int mask(int how, const sigset_t* set, sigset_t* old) noexcept;
  // sigaltstack(2): remembered but never installed, because the runtime needs its own stack.
  int alternate_stack(const stack_t* set, stack_t* old) noexcept;
  // For sigsuspend, ppoll, pselect, epoll_pwait: the mask that the kernel may get.
  static sigset_t without_protected(const sigset_t& mask) noexcept;

  // ---- For the runtime.

  // Signals that the runtime does not own and for which the program has a handler that may return. Without
  // the protected signals: those are never held back, and patched atomics take SIGTRAP in the program's name.
  // Any thread, signal-safe.
  os::SignalBits with_handler() const noexcept {
    return with_handler_.load(std::memory_order_relaxed) & ~protected_signals;
  }

  using KernelHandler = void (*)(int, siginfo_t*, void*);
  // From now on the kernel calls `entry` instead of the program's handlers for signals that the runtime does
  // not own; the program does not notice. `entry` calls run_handler(), or skips it. Set before the program
  // installs a handler.
  void set_entry(KernelHandler entry) noexcept { entry_ = entry; }
  // Whether a handler only reports and ends the process: the runtime ignores such handlers. Set as above.
  using Judge = bool (*)(const void* handler);
  void set_judge_of_ends(Judge ends_the_process) noexcept { ends_the_process_ = ends_the_process; }
  // Inside `entry`: runs the program's handler as the kernel would have, on the stack that the kernel would
  // have chosen. If that is not the current stack, the handler runs after `entry` has returned.
  void run_handler(int signal, siginfo_t* information, void* context) noexcept;

  // ---- For FaultHandler.

  // Reads the handlers that the program has installed so far. Once, before take().
  void begin(KernelHandler kernel_handler) noexcept;
  // From now on `signal` belongs to the runtime; the installed action becomes the program's record.
  void take(int signal) noexcept;
  // Installs the program's own actions again.
  void give_back() noexcept;

  enum class Delivery : std::uint8_t {
    handled,   // the program's handler has returned
    ignored,   // the program ignores the signal, and may
    unwanted,  // there is no handler, or it cannot be called now: the default action applies
  };
  // Inside the runtime's handler. Calls the program's handler as the kernel would have; it may never return.
  Delivery deliver(int signal, siginfo_t& information, ucontext_t& context) noexcept;

 private:
  struct Record {
    struct sigaction action {};
    bool known = false;  // set by the program, or read from the kernel
  };
  // Blocks all signals and takes the lock: a handler must not wait for a lock that its own thread holds.
  class Hold;

  void call_handler(int signal, siginfo_t* information, void* context) noexcept;
  static void call_moved(os::SignalFrame& frame);
  std::uintptr_t top_of_stack_for(int signal, std::uintptr_t interrupted) noexcept;
  bool may_go_on(const struct sigaction& action) const noexcept;
  bool owns(int signal) const noexcept { return (owned_ & os::signal_bit(signal)) != 0; }
  void install(int signal) noexcept;
  struct sigaction as_installed(const struct sigaction& wanted) const noexcept;
  int forward(int signal, const struct sigaction* set, struct sigaction* old) noexcept MUSUBI_REQUIRES(lock_);

  static constexpr int signals_end = 65;

  SpinLock lock_;
  KernelHandler kernel_handler_ = nullptr;
  KernelHandler entry_ = nullptr;  // null: the kernel calls the program's handlers directly
  os::SignalBits owned_ = 0;
  Judge ends_the_process_ = nullptr;
  std::atomic<os::SignalBits> with_handler_ = 0;
  std::array<Record, signals_end> records_ MUSUBI_GUARDED_BY(lock_){};
};

}  // namespace musubi::vm
