// Polls a word that may be at another rank and cannot be slept on: yields as long as that pays, then sleeps
// for growing times. Never spins: the awaited thread may need this very core.
#pragma once

#include <algorithm>
#include <cstdint>

#include "omp/thread.h"
#include "os/clock.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

class Backoff {
 public:
  explicit Backoff(runtime::Wait wait, std::uint64_t object = 0, std::uint64_t address = 0) noexcept
      : waiting_(wait, object, address) {}
  void pause() noexcept {
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

  runtime::Waiting waiting_;
  unsigned attempts_ = 0;
  std::uint64_t sleep_ns_ = 10'000;
};

}  // namespace musubi::omp
