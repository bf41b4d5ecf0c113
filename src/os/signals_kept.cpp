#include "os/signals_kept.h"

#include "os/signal_calls.h"

namespace musubi::os {

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
