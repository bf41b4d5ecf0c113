// Calls that name a thread (pthread_join and its relatives), for threads of other ranks: a pthread_t is an
// address, which tells the rank of the thread, and that rank makes the call.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <array>
#include <cstdint>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class ThreadCalls {
 public:
  enum class Function : std::uint32_t {
    join,  // if the thread ends within `number` milliseconds; otherwise EBUSY
    detach,
    cancel,
    kill,
    queue,
    get_name,
    set_name,
    get_processors,
    set_processors,
    get_scheduling,
    set_scheduling,
    set_priority,
    get_attributes,
  };
  struct Call {
    Function function;
    std::int32_t number = 0;
    pthread_t thread{};
    std::uint64_t bytes = 0;
    sigval value{};
    sched_param parameters{};
    std::array<char, 1024> memory{};  // a name, a set of processors
  };
  struct Result {
    std::uint64_t word = 0;  // result of a thread, beginning of its stack
    std::uint64_t bytes = 0;
    std::int32_t number = 0;
    sched_param parameters{};
    std::array<char, 1024> memory{};
  };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Whether the thread belongs to another rank. Any thread, signal-safe.
  bool is_elsewhere(pthread_t thread) const noexcept { return owner_of(thread) != runtime_->self(); }
  // Makes the call at the thread's rank. Result: 0 or an error number. Attached threads.
  int call(const Call& call, Result& result) noexcept;
  // Waits until the thread has ended, at most until `deadline` of that clock (null: no limit). A cancellation
  // point. Result: as pthread_clockjoin_np(3).
  int join(pthread_t thread, void** result, clockid_t clock, const timespec* deadline);

 private:
  Rank owner_of(pthread_t thread) const noexcept;
  int carry_out(const Call& call, Result& result) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  OwnerCalls<&ThreadCalls::carry_out> calls_;
};

// The channel through which an ended thread passes on its writes.
inline std::uint64_t channel_of(pthread_t thread) noexcept {
  return static_cast<std::uint64_t>(thread);
}

}  // namespace musubi::image
