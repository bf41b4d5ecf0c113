// Signals in a job of several ranks (docs/decisions/process_objects.md): a change that the program makes
// applies to all ranks, and each signal is handled once.
#pragma once

#include <signal.h>

#include <optional>

#include "image/objects/signal_watch.h"
#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Signals {
 public:
  // Before the program can have descriptors. Errors: no descriptor left.
  Result<void> open() { return watch_.open(); }
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);
  // On the initial thread, until end_watch(), which main's pthread_exit calls.
  void watch();
  void end_watch() noexcept { watch_.end(); }

  // Sets the same action for `signal` on the other ranks. Any attached thread, in handlers of the program,
  // too; the same for the functions below. Results: 0 or an error number.
  void spread(int signal, const struct sigaction& action) noexcept;
  // Signals the process that the program sees: the calling thread takes it if the program has a handler and
  // the thread does not block it; otherwise rank 0 does. `value`: of sigqueue(3), or null.
  int send_to_process(int signal, const sigval* value) noexcept;
  // Signals a thread of any rank, by its id in the system.
  int send_to_thread(pid_t thread, int signal) noexcept;

 private:
  // At another rank. Results: 0 or an error number.
  int act(int signal, const struct sigaction& action) noexcept;
  int send_here(int signal, const std::optional<sigval>& value) noexcept;
  void forward(const siginfo_t& information);
  int send_to_own_thread(pid_t thread, int signal) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  SignalWatch watch_;
  OwnerCalls<&Signals::act, &Signals::send_here, &Signals::forward, &Signals::send_to_own_thread> calls_;
};

}  // namespace musubi::image
