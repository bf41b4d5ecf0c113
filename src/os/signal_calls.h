// Signal calls of the kernel. The runtime exports its own sigaction, sigprocmask, ... to the program and must
// not call those itself.
#pragma once

#include <signal.h>

#include <cstdint>

namespace musubi::os {

// Bit n-1 is signal n: the kernel's form of a sigset_t.
using SignalBits = std::uint64_t;

constexpr SignalBits signal_bit(int signal) {
  return SignalBits{1} << (signal - 1);
}
SignalBits signal_bits(const sigset_t& set) noexcept;
// Sets the low 64 signals; glibc knows no more.
sigset_t signal_set(SignalBits bits) noexcept;

// As sigaction(2): 0, or -1 with errno.
int set_signal_action(int signal, const struct sigaction* action, struct sigaction* old) noexcept;
// As sigprocmask(2) for the calling thread. Result: the old mask.
SignalBits set_signal_mask(int how, SignalBits bits) noexcept;
// The kernel's return address for handlers: unwinders know this code.
const void* end_of_handlers() noexcept;
// Sends `signal` to the calling thread.
void raise_signal(int signal) noexcept;

// Restores on destruction all signal actions as of its construction, around the loading and initialisation of
// libraries that install handlers, for SIGSEGV and other signals, to print a message. One thread at a time.
class SignalsKept {
 public:
  SignalsKept() noexcept;
  ~SignalsKept();
  SignalsKept(const SignalsKept&) = delete;

 private:
  static constexpr int signals = 64;
  struct sigaction before_[signals + 1];
  bool known_[signals + 1];
};

}  // namespace musubi::os
