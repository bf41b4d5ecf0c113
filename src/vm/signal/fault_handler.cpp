#include "vm/signal/fault_handler.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "os/signal_calls.h"
#include "os/signal_frame.h"
#include "os/system_call.h"
#include "vm/signal/alternate_stack.h"

namespace musubi::vm {
namespace {

// The kernel calls a plain function, which finds the runtime only by this. A process has one set of handlers,
// so there can be no second object.
std::atomic<FaultHandler*> installed_handler{nullptr};

[[noreturn]] void die_by(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  os::set_signal_action(signal, &action, nullptr);
  os::set_signal_mask(SIG_UNBLOCK, os::signal_bit(signal));
  os::raise_signal(signal);
  ::_exit(128 + signal);
}

// Whether the program's handler sends its thread the same signal again, as handlers do that only report and
// then die.
bool repeats_fault(const AlternateStack& thread, const siginfo_t& sent,
                   std::uintptr_t stack_pointer) noexcept {
  const bool in_handler = thread.contains(stack_pointer) && stack_pointer < thread.user.handler_frame;
  return in_handler && thread.user.fault != nullptr && thread.user.fault->si_signo == sent.si_signo &&
         sent.si_code <= 0 && sent.si_pid == static_cast<pid_t>(os::system_call(SYS_getpid));
}

// Records on the alternate stack that the runtime runs from here on, with the outer state.
class RuntimeFrame {
 public:
  explicit RuntimeFrame(std::uintptr_t frame) noexcept : thread_(AlternateStack::current()) {
    if (thread_ == nullptr) return;
    outer_ = thread_->user.runtime_frame;
    thread_->user.runtime_frame = frame;
  }
  ~RuntimeFrame() {
    if (thread_ != nullptr) thread_->user.runtime_frame = outer_;
  }
  RuntimeFrame(const RuntimeFrame&) = delete;
  RuntimeFrame& operator=(const RuntimeFrame&) = delete;

  // Whether the signal interrupted the runtime's own handler, not the program or one of its handlers.
  bool interrupted(std::uintptr_t stack_pointer) const noexcept {
    return outer_ != 0 && thread_->contains(stack_pointer) && stack_pointer < outer_;
  }

 private:
  AlternateStack* thread_;
  std::uintptr_t outer_ = 0;
};

}  // namespace

FaultHandler* FaultHandler::installed() noexcept {
  return installed_handler.load(std::memory_order_acquire);
}

void FaultHandler::install() noexcept {
  FaultHandler* nobody = nullptr;
  MUSUBI_CHECK(installed_handler.compare_exchange_strong(nobody, this),
               "a fault handler is installed already");
  report_.prepare();
  user_signals_.begin(&FaultHandler::handle);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) user_signals_.take(signal);
}

FaultHandler::~FaultHandler() {
  if (installed() != this) return;
  user_signals_.give_back();
  installed_handler.store(nullptr, std::memory_order_release);
}

void FaultHandler::add_owner(int signal, SignalOwner& owner, Turn turn) noexcept {
  const std::size_t count = owner_count_.load(std::memory_order_relaxed);
  MUSUBI_CHECK(installed() == this && count < owners_max);
  owners_[count] = Ownership{signal, &owner, turn};
  owner_count_.store(count + 1, std::memory_order_release);
  user_signals_.take(signal);
}

void FaultHandler::handle(int signal, siginfo_t* information, void* context) {
  const int saved_errno = errno;
  FaultHandler* const handler = installed();
  if (handler == nullptr) return;
  const bool by_runtime =
      handler->dispatch(signal, *information, *static_cast<ucontext_t*>(context), saved_errno);
  if (by_runtime) errno = saved_errno;  // a handler of the program may have changed it on purpose
}

bool FaultHandler::dispatch(int signal, siginfo_t& information, ucontext_t& context,
                            int saved_errno) noexcept {
  const std::uintptr_t stack_pointer = os::fault_context(context).stack_pointer;
  const RuntimeFrame frame(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  const bool in_runtime = frame.interrupted(stack_pointer);

  StackRegistry::Stack stack;
  const bool forced = information.si_code > 0;
  const auto address = reinterpret_cast<std::uintptr_t>(information.si_addr);
  const bool overflow =
      (signal == SIGSEGV || signal == SIGBUS) && forced &&
      (stacks_.find_guard(address, stack) || stacks_.find_skipped(address, stack_pointer, stack));
  SignalVerdict verdict;
  if (!overflow) verdict = ask_owners(signal, information, context);
  if (verdict.kind == SignalVerdict::Kind::resolved) return true;
  if (signal == SIGBUS && (overflow || verdict.no_access)) {
    // The program has no right to that address, by whichever signal the runtime learned it.
    signal = information.si_signo = SIGSEGV;
    information.si_code = SEGV_ACCERR;
  }
  if (verdict.kind == SignalVerdict::Kind::foreign && !in_runtime) {
    errno = saved_errno;
    if (user_signals_.deliver(signal, information, context) != UserSignals::Delivery::unwanted) return false;
  }
  if (const AlternateStack* const thread = AlternateStack::current();
      thread != nullptr && repeats_fault(*thread, information, stack_pointer)) {
    const siginfo_t& fault = *thread->user.fault;
    const bool overflown = stacks_.find_guard(reinterpret_cast<std::uintptr_t>(fault.si_addr), stack);
    end_program(signal,
                {signal, fault, *thread->user.fault_context, overflown ? &stack : nullptr, nullptr, false});
  }
  end_program(signal,
              {signal, information, context, overflow ? &stack : nullptr, verdict.remark, in_runtime});
}

SignalVerdict FaultHandler::ask_owners(int signal, const siginfo_t& information,
                                       ucontext_t& context) noexcept {
  SignalVerdict last;
  const std::size_t count = owner_count_.load(std::memory_order_acquire);
  for (const Turn turn : {Turn::before_others, Turn::in_order}) {
    for (std::size_t i = 0; i < count; ++i) {
      if (owners_[i].signal != signal || owners_[i].turn != turn) continue;
      const SignalVerdict verdict = owners_[i].owner->on_signal(signal, information, context);
      if (verdict.kind != SignalVerdict::Kind::foreign) return verdict;
      if (verdict.remark != nullptr) last.remark = verdict.remark;
      last.no_access |= verdict.no_access;
    }
  }
  return last;
}

void FaultHandler::end_program(int signal, const CrashReport::Crash& crash) noexcept {
  int nobody = 0;
  if (!reporting_thread_.compare_exchange_strong(nobody, ::gettid())) {
    // Either the report itself touched a bad stack and cannot continue, or another thread reports.
    if (nobody == ::gettid()) die_by(reported_signal_);
    for (;;) ::pause();
  }
  reported_signal_ = signal;
  report_.write(crash);
  die_by(signal);
}

}  // namespace musubi::vm
