#include "launch/user_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace musubi::launch {
namespace {

constexpr int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
// The error of write(2) reports the same, and this process survives to tell the user.
constexpr int told_by_errors[] = {SIGPIPE, SIGXFSZ};
constexpr int signals_max = 64;

}  // namespace

os::SignalBits ignored_signals() {
  os::SignalBits ignored = 0;
  for (int signal = 1; signal <= signals_max; ++signal) {
    struct sigaction action {};
    const bool known = ::sigaction(signal, nullptr, &action) == 0;
    if (known && action.sa_handler == SIG_IGN) ignored |= os::signal_bit(signal);
  }
  return ignored;
}

void ignore_only(os::SignalBits signals) {
  for (int signal = 1; signal <= signals_max; ++signal) {
    ::signal(signal, (signals & os::signal_bit(signal)) != 0 ? SIG_IGN : SIG_DFL);
  }
}

UserSignals::UserSignals() : originally_ignored_(ignored_signals()) {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : handled) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, &original_mask_);
  for (const int signal : told_by_errors) ::signal(signal, SIG_IGN);
  descriptor_ = os::FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

UserSignals::~UserSignals() {
  for (const int signal : told_by_errors) {
    if ((originally_ignored_ & os::signal_bit(signal)) == 0) ::signal(signal, SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

std::optional<UserSignal> UserSignals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return std::nullopt;
  const int number = static_cast<int>(info.ssi_signo);
  const bool was_ignored = (originally_ignored_ & os::signal_bit(number)) != 0;
  return UserSignal{number, info.ssi_code == SI_KERNEL, was_ignored};
}

void UserSignals::stop_self() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // the process stops here
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

Passing passing_of(UserSignal signal) {
  if (signal.from_terminal) return Passing::nobody;
  return signal.number == SIGUSR1 || signal.number == SIGUSR2 ? Passing::rank_zero : Passing::all_ranks;
}

bool Insistence::insists(UserSignal signal, std::uint64_t now_ns) {
  constexpr std::uint64_t copy_ns = 200'000'000;
  if (!signal.asks_to_end() || signal.number == SIGHUP) return false;
  if (!first_ns_) first_ns_ = now_ns;
  return now_ns - *first_ns_ > copy_ns;
}

}  // namespace musubi::launch
