#include "vm/signal/user_signals.h"

#include <errno.h>

#include <cstring>

#include "os/signal_frame.h"
#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"

namespace musubi::vm {
namespace {

bool has_handler(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

bool is_usable(const stack_t& stack) {
  return (stack.ss_flags & SS_DISABLE) == 0;
}

bool contains(const stack_t& stack, std::uintptr_t address) {
  return address - reinterpret_cast<std::uintptr_t>(stack.ss_sp) < stack.ss_size;
}

bool can_be_handled(int signal) {
  return signal >= 1 && signal < 65 && signal != SIGKILL && signal != SIGSTOP;
}

}  // namespace

class MUSUBI_SCOPED_LOCK_TYPE UserSignals::Hold {
 public:
  explicit Hold(UserSignals& signals) noexcept MUSUBI_ACQUIRE(signals.lock_)
      : signals_(signals), mask_(os::set_signal_mask(SIG_SETMASK, ~protected_signals)) {
    signals_.lock_.lock();
  }
  ~Hold() MUSUBI_RELEASE() {
    signals_.lock_.unlock();
    os::set_signal_mask(SIG_SETMASK, mask_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  UserSignals& signals_;
  os::SignalBits mask_;
};

void UserSignals::begin(KernelHandler kernel_handler) noexcept {
  kernel_handler_ = kernel_handler;
  for (int signal = 1; signal < signals_end; ++signal) {
    struct sigaction now {};
    if (!can_be_handled(signal) || os::set_signal_action(signal, nullptr, &now) != 0) continue;
    if (has_handler(now)) with_handler_ |= os::signal_bit(signal);
  }
}

void UserSignals::take(int signal) noexcept {
  const Hold hold(*this);
  if (owns(signal)) return;
  Record& record = records_[static_cast<std::size_t>(signal)];
  if (!record.known) os::set_signal_action(signal, nullptr, &record.action);
  record.known = true;
  owned_ |= os::signal_bit(signal);
  with_handler_ &= ~os::signal_bit(signal);
  install(signal);
}

void UserSignals::give_back() noexcept {
  const Hold hold(*this);
  for (int signal = 1; signal < signals_end; ++signal) {
    if (owns(signal))
      os::set_signal_action(signal, &records_[static_cast<std::size_t>(signal)].action, nullptr);
  }
  owned_ = 0;
}

// While the runtime handles a fault, no handler of the program may interrupt it on the same thread: the
// handler could touch shared memory and wait forever for a lock of the interrupted code. Signals without a
// handler stay unblocked, so that an interrupt from the terminal still ends a program that waits in a fault.
void UserSignals::install(int signal) noexcept {
  struct sigaction action {};
  action.sa_sigaction = kernel_handler_;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  action.sa_mask = os::signal_set(with_handler_ & ~protected_signals);
  os::set_signal_action(signal, &action, nullptr);
}

int UserSignals::action(int signal, const struct sigaction* set, struct sigaction* old) noexcept {
  if (!can_be_handled(signal)) return os::set_signal_action(signal, set, old);
  // Copies: the program's structures may be in shared memory and fault.
  struct sigaction wanted {};
  struct sigaction before {};
  if (set != nullptr) wanted = *set;
  int result = 0;
  {
    const Hold hold(*this);
    if (owns(signal)) {
      Record& record = records_[static_cast<std::size_t>(signal)];
      before = record.action;
      if (set != nullptr) record.action = wanted;
    } else {
      result = forward(signal, set != nullptr ? &wanted : nullptr, &before);
    }
  }
  if (result == 0 && old != nullptr) *old = before;
  return result;
}

struct sigaction UserSignals::as_installed(const struct sigaction& wanted) const noexcept {
  struct sigaction altered = wanted;
  altered.sa_mask = without_protected(wanted.sa_mask);
  if (!has_handler(wanted)) return altered;
  altered.sa_flags |= SA_ONSTACK;
  if (entry_ == nullptr) return altered;
  altered.sa_sigaction = entry_;
  altered.sa_flags |= SA_SIGINFO;
  altered.sa_flags &= ~static_cast<int>(SA_RESETHAND);  // `entry` may skip the handler
  return altered;
}

void UserSignals::run_handler(int signal, siginfo_t* information, void* context) noexcept {
  const AlternateStack* const thread = AlternateStack::current();
  auto& interrupted = *static_cast<ucontext_t*>(context);
  const std::uintptr_t stack_pointer = os::fault_context(interrupted).stack_pointer;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  // The interrupted code may be a fault handler on this stack, which the kernel continued to use.
  if (thread == nullptr || !thread->contains(here) || thread->contains(stack_pointer))
    return call_handler(signal, information, context);
  os::move_signal_frame(top_of_stack_for(signal, stack_pointer), *information, interrupted, &call_moved);
}

// 0: the interrupted stack.
std::uintptr_t UserSignals::top_of_stack_for(int signal, std::uintptr_t interrupted) noexcept {
  const stack_t& own = AlternateStack::current()->user.stack;
  const Hold hold(*this);
  const struct sigaction& action = records_[static_cast<std::size_t>(signal)].action;
  if ((action.sa_flags & SA_ONSTACK) == 0 || !is_usable(own) || contains(own, interrupted)) return 0;
  return reinterpret_cast<std::uintptr_t>(own.ss_sp) + own.ss_size;
}

void UserSignals::call_moved(os::SignalFrame& frame) {
  FaultHandler::installed()->user_signals().call_handler(frame.information.si_signo, &frame.information,
                                                         &frame.context);
  os::set_signal_mask(SIG_SETMASK, ~protected_signals);
  const os::SignalBits mask = os::signal_bits(frame.context.uc_sigmask) & ~protected_signals;
  std::memcpy(&frame.context.uc_sigmask, &mask, sizeof mask);
  const AlternateStack& thread = *AlternateStack::current();
  os::return_from_signal(frame, thread.return_memory(), thread.as_installed());
}

void UserSignals::call_handler(int signal, siginfo_t* information, void* context) noexcept {
  struct sigaction action {};
  {
    const Hold hold(*this);
    Record& record = records_[static_cast<std::size_t>(signal)];
    action = record.action;
    if (has_handler(action) && (action.sa_flags & SA_RESETHAND)) {
      record.action.sa_handler = SIG_DFL;
      os::set_signal_action(signal, &record.action, nullptr);
    }
  }
  if (!has_handler(action)) return;  // changed since the signal arrived
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(signal, information, context);
  } else {
    action.sa_handler(signal);
  }
}

bool UserSignals::may_go_on(const struct sigaction& action) const noexcept {
  if (!has_handler(action)) return false;
  return ends_the_process_ == nullptr ||
         !ends_the_process_(reinterpret_cast<const void*>(action.sa_sigaction));
}

// Holds the lock.
int UserSignals::forward(int signal, const struct sigaction* set, struct sigaction* old) noexcept {
  Record& record = records_[static_cast<std::size_t>(signal)];
  struct sigaction altered {};
  if (set != nullptr) altered = as_installed(*set);
  const int result = os::set_signal_action(signal, set != nullptr ? &altered : nullptr, old);
  if (result != 0) return result;
  // A one-shot handler may have run: then the kernel's action is right, not the record.
  if (record.known && old->sa_handler == as_installed(record.action).sa_handler) *old = record.action;
  if (set == nullptr) return 0;
  record = Record{*set, true};
  const os::SignalBits bit = os::signal_bit(signal);
  const os::SignalBits with_handler = may_go_on(*set) ? with_handler_ | bit : with_handler_ & ~bit;
  if (with_handler != with_handler_) {
    with_handler_ = with_handler;
    for (int other = 1; other < signals_end; ++other) {
      if (owns(other)) install(other);
    }
  }
  return 0;
}

sighandler_t UserSignals::handler(int signal, sighandler_t function) noexcept {
  struct sigaction set {};
  struct sigaction old {};
  set.sa_handler = function;
  set.sa_flags = SA_RESTART;
  return action(signal, &set, &old) == 0 ? old.sa_handler : SIG_ERR;
}

int UserSignals::mask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (set != nullptr && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
  AlternateStack* const thread = AlternateStack::current();
  const os::SignalBits wanted = set != nullptr ? os::signal_bits(*set) : 0;
  const os::SignalBits believed_before = thread != nullptr ? thread->user.blocked : 0;
  const os::SignalBits before = os::set_signal_mask(
      set != nullptr ? how : SIG_BLOCK, how == SIG_UNBLOCK ? wanted : wanted & ~protected_signals);
  if (thread != nullptr && set != nullptr) {
    const os::SignalBits kept = wanted & protected_signals;
    os::SignalBits& blocked = thread->user.blocked;
    blocked = how == SIG_BLOCK ? blocked | kept : how == SIG_UNBLOCK ? blocked & ~kept : kept;
  }
  if (old != nullptr) *old = os::signal_set(before | believed_before);
  return 0;
}

int UserSignals::alternate_stack(const stack_t* set, stack_t* old) noexcept {
  AlternateStack* const thread = AlternateStack::current();
  stack_t none{nullptr, SS_DISABLE, 0};
  stack_t& remembered = thread != nullptr ? thread->user.stack : none;
  stack_t before = remembered;
  const bool stands_on = is_usable(before) && contains(before, reinterpret_cast<std::uintptr_t>(&none));
  if (stands_on) before.ss_flags |= SS_ONSTACK;
  if (set != nullptr) {
    if (stands_on) {
      errno = EPERM;
      return -1;
    }
    if ((set->ss_flags & ~(SS_DISABLE | SS_ONSTACK)) != 0) {
      errno = EINVAL;
      return -1;
    }
    if ((set->ss_flags & SS_DISABLE) == 0 && set->ss_size < 2048) {  // the kernel's MINSIGSTKSZ
      errno = ENOMEM;
      return -1;
    }
    remembered = (set->ss_flags & SS_DISABLE) != 0 ? stack_t{nullptr, SS_DISABLE, 0} : *set;
  }
  if (old != nullptr) *old = before;
  return 0;
}

sigset_t UserSignals::without_protected(const sigset_t& mask) noexcept {
  return os::signal_set(os::signal_bits(mask) & ~protected_signals);
}

UserSignals::Delivery UserSignals::deliver(int signal, siginfo_t& information, ucontext_t& context) noexcept {
  const bool forced = information.si_code > 0;  // raised by the processor: the instruction cannot continue
  const os::SignalBits bit = os::signal_bit(signal);
  const std::uintptr_t stack_pointer = os::fault_context(context).stack_pointer;
  AlternateStack* const thread = AlternateStack::current();
  if (forced && thread != nullptr) {
    // As in the kernel: a blocked forced signal ends the program.
    if (thread->user.blocked & bit) return Delivery::unwanted;
    const bool in_handler = thread->contains(stack_pointer) && stack_pointer < thread->user.handler_frame;
    if (in_handler && (thread->user.blocked_in_handler & bit) != 0) return Delivery::unwanted;
  }
  struct sigaction action {};
  {
    const Hold hold(*this);
    Record& record = records_[static_cast<std::size_t>(signal)];
    action = record.action;
    if (has_handler(action) && (action.sa_flags & SA_RESETHAND)) record.action.sa_handler = SIG_DFL;
  }
  if (!has_handler(action)) {
    return action.sa_handler == SIG_IGN && !forced ? Delivery::ignored : Delivery::unwanted;
  }

  os::SignalBits in_handler = os::signal_bits(action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) in_handler |= bit;
  AlternateStack::UserView outer;
  if (thread != nullptr) {
    outer = thread->user;
    thread->user.blocked_in_handler = in_handler & protected_signals;
    thread->user.handler_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    thread->user.runtime_frame = 0;
    if (forced) {
      thread->user.fault = &information;
      thread->user.fault_context = &context;
    }
  }
  // The kernel wrote 8 bytes of the interrupted mask. It restores them itself when the outer handler returns.
  os::set_signal_mask(SIG_SETMASK, (os::signal_bits(context.uc_sigmask) | in_handler) & ~protected_signals);
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(signal, &information, &context);
  } else {
    action.sa_handler(signal);
  }
  if (thread != nullptr) {
    thread->user.blocked_in_handler = outer.blocked_in_handler;
    thread->user.handler_frame = outer.handler_frame;
    thread->user.runtime_frame = outer.runtime_frame;
    thread->user.fault = outer.fault;
    thread->user.fault_context = outer.fault_context;
  }
  return Delivery::handled;
}

}  // namespace musubi::vm
