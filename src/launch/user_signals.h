// The signals that users send to the launcher, and their effects.
//
// The ranks stay in the launcher's process group. So signals of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z, hang-up
// of the shell's job) reach them directly, and rank 0 may read from the terminal. The launcher passes on only
// a signal that was sent to it alone (kill, a batch system):
//   INT TERM HUP       to all ranks; a second INT or TERM kills the job
//   QUIT               to nobody: the launcher says what each thread does (of plain programs: to all ranks)
//   USR1 USR2          to rank 0: the program is one program and gets them once
//   TSTP CONT          to all ranks; the launcher stops and continues with them
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>

#include "os/memory.h"

namespace musubi::launch {

struct UserSignal {
  int number;
  bool from_terminal;  // the ranks have got it too
};

enum class Passing { all_ranks, rank_zero, nobody };

class UserSignals {
 public:
  // Blocks the signals of this process and ignores SIGPIPE, until destroyed.
  UserSignals();
  ~UserSignals();
  UserSignals(const UserSignals&) = delete;
  UserSignals& operator=(const UserSignals&) = delete;

  int descriptor() const { return descriptor_.number(); }  // readable when there is a signal
  std::optional<UserSignal> next();

  const sigset_t& original_mask() const { return original_mask_; }
  const struct sigaction& original_pipe_action() const { return original_pipe_action_; }

  // Stops this process as SIGTSTP would by default; returns when it is continued.
  static void stop_self();

 private:
  sigset_t original_mask_;
  struct sigaction original_pipe_action_;
  os::FileDescriptor descriptor_;
};

Passing passing_of(UserSignal signal);

// Whether a request to end is the user's second, and not a copy of the first: `timeout` and shells send the
// same signal both to a process and to its group.
class Insistence {
 public:
  bool insists(int signal, std::uint64_t now_ns);

 private:
  std::optional<std::uint64_t> first_ns_;
};

}  // namespace musubi::launch
