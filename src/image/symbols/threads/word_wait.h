// A thread's wait for a word of the program to change: it looks at the word a few times, since a change
// often comes soon, then sleeps until a thread that changes the word wakes it. A thread whose last waits had
// to sleep looks less often: its looks would hold up the thread that it waits for.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "image/start/job.h"
#include "omp/backoff.h"

namespace musubi::image {

// Between two looks at the word:  while (!changed()) { ...; wait.pause(deadline); }
class WordWait {
 public:
  explicit WordWait(const void* word, runtime::Wait kind = runtime::Wait::condition) noexcept
      : coordination_(current_job()->runtime.coordination()),
        word_(word),
        backoff_(kind, 0, reinterpret_cast<std::uintptr_t>(word)) {}
  ~WordWait() {
    looks_that_pay = has_slept_ ? std::max(looks_that_pay / 2, 1u) : looks_awake;
    if (has_announced_) coordination_.withdraw_sleep(word_, *sleep_);
  }
  WordWait(const WordWait&) = delete;
  WordWait& operator=(const WordWait&) = delete;

  // Whether the thread may end here, by cancellation: nothing refers to it.
  bool may_end() const noexcept { return !has_announced_; }
  // Yields, announces the sleep, or sleeps; until `moment` of the clock at the latest (null: no limit).
  void pause(clockid_t clock = CLOCK_REALTIME, const timespec* moment = nullptr) noexcept {
    if (looks_ < looks_that_pay) {
      ++looks_;
      return backoff_.pause();
    }
    if (!has_announced_) {
      coordination_.announce_sleep(word_, sleep_.emplace());
      has_announced_ = true;
      return;
    }
    coordination_.sleep(word_, *sleep_, std::min(longest_sleep_ns, ns_until(clock, moment)));
    has_announced_ = false;
    has_slept_ = true;
  }

 private:
  // A look may cost a round trip; the sleep and the wake cost about ten.
  static constexpr unsigned looks_awake = 8;
  static inline thread_local constinit unsigned looks_that_pay = looks_awake;
  // Then a cancelled thread notices.
  static constexpr std::uint64_t longest_sleep_ns = 100'000'000;

  static std::uint64_t ns_until(clockid_t clock, const timespec* moment) noexcept {
    if (moment == nullptr) return longest_sleep_ns;
    timespec now;
    ::clock_gettime(clock, &now);
    const std::int64_t seconds = std::clamp<std::int64_t>(moment->tv_sec - now.tv_sec, -1, 1);
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, seconds * 1'000'000'000 + moment->tv_nsec - now.tv_nsec));
  }

  runtime::Coordination& coordination_;
  const void* const word_;
  omp::Backoff backoff_;
  std::optional<runtime::Coordination::Sleep> sleep_;
  bool has_announced_ = false, has_slept_ = false;
  unsigned looks_ = 0;
};

// After a change of the word. Attached threads.
inline void wake_waiters(const void* word) noexcept {
  current_job()->runtime.coordination().wake_all(word);
}
inline void wake_waiter(const void* word) noexcept {
  current_job()->runtime.coordination().wake_one(word);
}

}  // namespace musubi::image
