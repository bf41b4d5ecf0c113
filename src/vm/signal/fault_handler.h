// The process's handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT (and of the signals of further
// owners). Each signal is offered to its owners, then to the program's own handler; a signal that none of
// them takes ends the program with a report and by the same signal.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "vm/signal/crash_report.h"
#include "vm/signal/signal_owner.h"
#include "vm/signal/stack_registry.h"
#include "vm/signal/user_signals.h"

namespace musubi::vm {

class FaultHandler {
 public:
  // `rank` appears in crash reports.
  explicit FaultHandler(Rank rank) noexcept : report_(rank) {}
  // Restores the program's signal actions.
  ~FaultHandler();
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;

  // Takes the signals. REQUIRES: no other handler is installed in this process. Each thread that touches
  // shared memory needs an AlternateStack.
  void install() noexcept;
  // The installed handler, or null. Any thread.
  static FaultHandler* installed() noexcept;

  enum class Turn : std::uint8_t { in_order, before_others };
  // Offers `signal` to `owner`, and takes the signal if necessary. `owner` outlives this. After install().
  void add_owner(int signal, SignalOwner& owner, Turn turn = Turn::in_order) noexcept;

  // A stack [low, high) whose lowest `guard_bytes` are never accessible. Any thread.
  void register_stack(std::uintptr_t low, std::uintptr_t high, std::size_t guard_bytes) noexcept {
    stacks_.add({low, high, guard_bytes});
  }
  // The range [low, high) that contains all stacks of all processes. Set before the first stack is
  // registered.
  void set_place_of_stacks(std::uintptr_t low, std::uintptr_t high) noexcept { stacks_.set_place(low, high); }
  void unregister_stack(std::uintptr_t low) noexcept { stacks_.remove(low); }

  // The listener that tells the user of crashes (see CrashReport::set_listener).
  void set_crash_listener(CrashListener* listener, bool runtime_frames) noexcept {
    report_.set_listener(listener, runtime_frames);
  }

  UserSignals& user_signals() noexcept { return user_signals_; }

 private:
  static void handle(int signal, siginfo_t* information, void* context);
  // True if the runtime resolved the signal, false if the program's handler did.
  bool dispatch(int signal, siginfo_t& information, ucontext_t& context, int saved_errno) noexcept;
  SignalVerdict ask_owners(int signal, const siginfo_t& information, ucontext_t& context) noexcept;
  [[noreturn]] void end_program(int signal, const CrashReport::Crash& crash) noexcept;

  struct Ownership {
    int signal;
    SignalOwner* owner;
    Turn turn;
  };
  static constexpr std::size_t owners_max = 16;

  std::array<Ownership, owners_max> owners_{};
  std::atomic<std::size_t> owner_count_{0};
  StackRegistry stacks_;
  UserSignals user_signals_;
  CrashReport report_;
  std::atomic<int> reporting_thread_{0};
  int reported_signal_ = 0;
};

}  // namespace musubi::vm
