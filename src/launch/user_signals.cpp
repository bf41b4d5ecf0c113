#include "launch/user_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace musubi::launch {
namespace {

constexpr int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

}  // namespace

UserSignals::UserSignals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : handled) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, &original_mask_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &original_pipe_action_);
  descriptor_ = os::FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

UserSignals::~UserSignals() {
  ::sigaction(SIGPIPE, &original_pipe_action_, nullptr);
  ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

std::optional<UserSignal> UserSignals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return std::nullopt;
  return UserSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

void UserSignals::stop_self() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here the process stops
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

Passing passing_of(UserSignal signal) {
  if (signal.from_terminal) return Passing::nobody;
  return signal.number == SIGUSR1 || signal.number == SIGUSR2 ? Passing::rank_zero : Passing::all_ranks;
}

bool Insistence::insists(int signal, std::uint64_t now_ns) {
  constexpr std::uint64_t copy_ns = 200'000'000;
  if (signal != SIGINT && signal != SIGTERM) return false;
  if (!first_ns_) first_ns_ = now_ns;
  return now_ns - *first_ns_ > copy_ns;
}

}  // namespace musubi::launch
