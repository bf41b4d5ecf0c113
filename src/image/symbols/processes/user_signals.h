// The record of the program's signals, and their destination, for interposed functions.
#pragma once

#include <signal.h>

#include "image/start/job.h"
#include "vm/signal/fault_handler.h"

namespace musubi::image {

// Null before the job exists, and in processes that are no rank.
inline vm::UserSignals* user_signals() noexcept {
  vm::FaultHandler* const handler = vm::FaultHandler::installed();
  return handler == nullptr ? nullptr : &handler->user_signals();
}

// sigaction(2), at every rank.
int set_action_everywhere(vm::UserSignals& signals, int signal, const struct sigaction* set,
                          struct sigaction* old) noexcept;
// The job that a signal of the program addresses: if it has several ranks and `process` is the id by which
// the program knows it; otherwise null.
Job* job_addressed_by(pid_t process) noexcept;
// pthread_sigmask(3): 0 or an error number.
int set_mask(int how, const sigset_t* set, sigset_t* old) noexcept;

// The program's mask, without protected signals, for a call that waits with it. Null stays null.
class WaitingMask {
 public:
  explicit WaitingMask(const sigset_t* mask) noexcept
      : mask_(mask != nullptr ? vm::UserSignals::without_protected(*mask) : sigset_t{}),
        given_(mask != nullptr) {}
  const sigset_t* get() const noexcept { return given_ ? &mask_ : nullptr; }

 private:
  sigset_t mask_;
  bool given_;
};

}  // namespace musubi::image
