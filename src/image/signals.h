// Signals in a job of several ranks (docs/decisions/process_objects.md): what the program says of one holds
// at all ranks, and each is handled once.
#pragma once

#include <signal.h>

#include "image/signal_watch.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Signals final : private runtime::Procedure {
 public:
  // Before the program can have descriptors. Errors: no descriptor left.
  Result<void> open() { return watch_.open(); }
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);
  // On the initial thread, until main has called pthread_exit, which end_watch() says.
  void watch();
  void end_watch() noexcept { watch_.end(); }

  // Makes the other ranks do with `signal` what has been done here. Any attached thread, in handlers of the
  // program, too; so are those below. Results: 0 or an error number.
  void spread(int signal, const struct sigaction& action) noexcept;
  // For the process that the program sees: the calling thread takes it if the program has a handler and the
  // thread does not block it, rank 0 otherwise. `value`: of sigqueue(3), or null.
  int send_to_process(int signal, const sigval* value) noexcept;
  // For a thread of any rank, by its id in the system.
  int send_to_thread(pid_t thread, int signal) noexcept;

 private:
  enum class Request : std::uint32_t { act, send_to_process, forward, send_to_thread_id };
  struct Message {
    Request request;
    std::int32_t signal;
    std::int32_t thread_id;
    bool has_value;
    sigval value;
    struct sigaction action;
    siginfo_t information;
  };

  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  int ask(Rank rank, const Message& message) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  SignalWatch watch_;
};

}  // namespace musubi::image
