// Libraries install signal handlers when they are loaded or initialised: for SIGSEGV and other signals, to
// print a message.
#pragma once

#include <signal.h>

namespace musubi::os {

// Restores on destruction all signal actions as of its construction. One thread at a time.
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
