// Polls a word that may be at another rank and cannot be slept on: yields as long as that pays, then sleeps
// for growing times. Never spins: the awaited thread may need this very core.
#pragma once

#include <algorithm>
#include <cstdint>

#include "omp/thread.h"
#include "os/clock.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

// Work for a member of a team while it waits.
class IdleWork {
 public:
  // Called by a waiting member, each time before it yields or sleeps. Runs a piece of work, if one is
  // available that such a wait allows. Result: whether it did; the member then checks at once whether its
  // wait is over. Any thread.
  virtual bool run_piece(runtime::Wait wait) noexcept = 0;

 protected:
  ~IdleWork() = default;
};

// Runs a piece of its team's work on the calling thread, which waits. Result: whether there was one.
bool work_while(runtime::Wait wait) noexcept;

class Backoff {
 public:
  explicit Backoff(runtime::Wait wait, std::uint64_t object = 0, std::uint64_t address = 0) noexcept
      : wait_(wait), waiting_(wait, object, address) {}
  // Runs a piece of work for the calling thread's team instead, if there is one.
  void pause() noexcept {
    if (work_while(wait_)) return;
    if (attempts_++ < yields && thread_state.yields.allowed(1) != 0) {
      thread_state.yields.yield();
      return;
    }
    os::sleep_ns(sleep_ns_);
    sleep_ns_ = std::min(sleep_ns_ * 2, sleep_ns_max);
  }

 private:
  static constexpr unsigned yields = 64;
  static constexpr std::uint64_t sleep_ns_max = 500'000;

  const runtime::Wait wait_;
  runtime::Waiting waiting_;
  unsigned attempts_ = 0;
  std::uint64_t sleep_ns_ = 10'000;
};

}  // namespace musubi::omp
