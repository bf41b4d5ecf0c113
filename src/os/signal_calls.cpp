#include "os/signal_calls.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc's own name of sigaction, which no program interposes; the plain name may lead back to the runtime.
// The bare system call would need a return trampoline of our own.
extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

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

int set_signal_action(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  return __sigaction(signal, action, old);
}

SignalBits set_signal_mask(int how, SignalBits bits) noexcept {
  SignalBits before = 0;
  ::syscall(SYS_rt_sigprocmask, how, &bits, &before, sizeof bits);
  return before;
}

void raise_signal(int signal) noexcept {
  ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
}

}  // namespace musubi::os
