// Libraries take signals for themselves when they are loaded or begin: SIGSEGV and others, to print
// something.
#pragma once

#include <signal.h>

namespace musubi::os {

// Puts all signal actions back as they were when it was made. One thread at a time.
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
