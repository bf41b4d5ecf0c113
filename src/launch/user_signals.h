// The signals that users send to the launcher, and their effects.
//
// The ranks stay in the launcher's process group. So signals of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z, hang-up
// of the shell's job) reach them directly, and rank 0 may read from the terminal. The launcher forwards only
// a signal that was sent to it alone (kill, a batch system):
//
//   INT TERM HUP       to all ranks; a second INT or TERM kills the job
//   QUIT               to no rank: the launcher reports each thread's state (plain programs: to all ranks)
//   USR1 USR2          to rank 0: the ranks are one program, which gets them once
//   TSTP CONT          to all ranks; the launcher stops and continues with them
//
// A signal that was ignored when the launcher started (nohup, a script's background) has no effect on it.
// Ranks ignore it, too, on all hosts; it is forwarded, because a program may have installed a handler.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>

#include "os/memory.h"
#include "os/signal_calls.h"

namespace musubi::launch {

struct UserSignal {
  int number;
  bool from_terminal;        // the ranks have received it, too
  bool was_ignored = false;  // when the launcher started

  bool asks_to_end() const {
    return !was_ignored && (number == SIGINT || number == SIGTERM || number == SIGHUP);
  }
  bool asks_to_stop() const { return !was_ignored && number == SIGTSTP; }
};

enum class Passing { all_ranks, rank_zero, nobody };

class UserSignals {
 public:
  // Until destroyed, blocks the signals above and ignores those of failed writes.
  UserSignals();
  ~UserSignals();
  UserSignals(const UserSignals&) = delete;
  UserSignals& operator=(const UserSignals&) = delete;

  int descriptor() const { return descriptor_.number(); }  // readable when there is a signal
  std::optional<UserSignal> next();

  const sigset_t& original_mask() const { return original_mask_; }
  os::SignalBits originally_ignored() const { return originally_ignored_; }

  // Stops this process like the default action of SIGTSTP; returns when it is continued.
  static void stop_self();

 private:
  sigset_t original_mask_;
  os::SignalBits originally_ignored_;
  os::FileDescriptor descriptor_;
};

Passing passing_of(UserSignal signal);

// The signals that this process ignores.
os::SignalBits ignored_signals();
// Ignores exactly these: for a child, before exec, which removes handlers.
void ignore_only(os::SignalBits signals);

// Whether a request to end is the user's second, and not a copy of the first: `timeout` and shells send the
// same signal both to a process and to its group.
class Insistence {
 public:
  bool insists(UserSignal signal, std::uint64_t now_ns);

 private:
  std::optional<std::uint64_t> first_ns_;
};

}  // namespace musubi::launch
