#include "os/signal_calls.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/system_call.h"

namespace musubi::os {

SignalBits signal_bits(const sigset_t& set) noexcept {
  SignalBits bits;
  ::memcpy(&bits, &set, sizeof bits);
  return bits;
}

sigset_t signal_set(SignalBits bits) noexcept {
  sigset_t set{};
  ::memcpy(&set, &bits, sizeof bits);
  return set;
}

#if defined(__x86_64__)

namespace {

// The kernel returns to this code after a handler. Unwinders recognise exactly these bytes as the end of a
// signal's frame.
extern "C" __attribute__((visibility("hidden"))) void musubi_return_from_signal();
asm(R"(
    .pushsection .text
    .balign 16
    nop
    .globl musubi_return_from_signal
    .hidden musubi_return_from_signal
    .type musubi_return_from_signal, @function
musubi_return_from_signal:
    movq $15, %rax
    syscall
    .size musubi_return_from_signal, . - musubi_return_from_signal
    .popsection
)");
static_assert(SYS_rt_sigreturn == 15);

struct KernelAction {
  decltype(sigaction::sa_sigaction) handler;
  unsigned long flags;
  void (*restorer)();
  SignalBits mask;
};
constexpr unsigned long with_restorer = 0x04000000;

}  // namespace

int set_signal_action(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  KernelAction set{}, before{};
  if (action != nullptr) {
    const auto flags = static_cast<unsigned long>(static_cast<unsigned>(action->sa_flags));
    set = {action->sa_sigaction, flags | with_restorer, &musubi_return_from_signal,
           signal_bits(action->sa_mask)};
  }
  const long result = system_call(SYS_rt_sigaction, signal, action != nullptr ? as_argument(&set) : 0,
                                  old != nullptr ? as_argument(&before) : 0, sizeof(SignalBits));
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  if (old != nullptr) {
    old->sa_sigaction = before.handler;
    old->sa_flags = static_cast<int>(before.flags & ~with_restorer);
    old->sa_mask = signal_set(before.mask);
    old->sa_restorer = nullptr;
  }
  return 0;
}

#else
#error "say here how a handler is installed without the C library's sigaction, which the runtime interposes"
#endif

const void* end_of_handlers() noexcept {
  return reinterpret_cast<const void*>(&musubi_return_from_signal);
}

SignalBits set_signal_mask(int how, SignalBits bits) noexcept {
  SignalBits before = 0;
  system_call(SYS_rt_sigprocmask, how, as_argument(&bits), as_argument(&before), sizeof bits);
  return before;
}

void raise_signal(int signal) noexcept {
  system_call(SYS_tgkill, system_call(SYS_getpid), ::gettid(), signal);
}

SignalsKept::SignalsKept() noexcept {
  for (int signal = 1; signal <= signals; ++signal) {
    known_[signal] = set_signal_action(signal, nullptr, &before_[signal]) == 0;
  }
}

SignalsKept::~SignalsKept() {
  for (int signal = 1; signal <= signals; ++signal) {
    struct sigaction now;
    const bool changed =
        known_[signal] && set_signal_action(signal, nullptr, &now) == 0 &&
        (now.sa_sigaction != before_[signal].sa_sigaction || now.sa_flags != before_[signal].sa_flags);
    if (changed) set_signal_action(signal, &before_[signal], nullptr);
  }
}

}  // namespace musubi::os
