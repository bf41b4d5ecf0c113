// The threads that descend from one initial task: thread-limit-var bounds their number (specification 5.1,
// section 2.6.1). Counted only where a limit is set, so that other programs do not pay for it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "omp/icv.h"
#include "omp/team_words.h"

namespace musubi::omp {

class ContentionGroup {
 public:
  // A group in this process.
  constexpr ContentionGroup() noexcept = default;
  // A group over the ranks, counted on rank 0.
  explicit ContentionGroup(TeamWords& words) noexcept : words_(&words) {}
  ContentionGroup(const ContentionGroup&) = delete;
  ContentionGroup& operator=(const ContentionGroup&) = delete;

  // A thread of the group wants `wanted` further ones, so that there are at most `limit`. Result: the number
  // that it gets. Any thread; without a limit it gets all, uncounted.
  std::uint32_t take(std::uint32_t wanted, std::uint32_t limit) {
    if (limit == no_thread_limit || wanted == 0) return wanted;
    std::uint64_t seen = load();
    while (true) {
      const std::uint64_t busy = seen + 1;  // with the thread that is always there
      const std::uint64_t left = limit > busy ? limit - busy : 0;
      const auto given = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, left));
      if (given == 0) return 0;
      const std::uint64_t before = exchange(seen, seen + given);
      if (before == seen) return given;
      seen = before;
    }
  }
  // `limit`: as in take().
  void give_back(std::uint32_t count, std::uint32_t limit) {
    if (limit == no_thread_limit || count == 0) return;
    if (words_ != nullptr) {
      words_->fetch_add(Rank{0}, words::busy_threads, std::uint64_t{0} - count);
    } else {
      further_.fetch_sub(count);
    }
  }

 private:
  std::uint64_t load() {
    return words_ != nullptr ? words_->load(Rank{0}, words::busy_threads) : further_.load();
  }
  std::uint64_t exchange(std::uint64_t seen, std::uint64_t desired) {
    if (words_ != nullptr) return words_->compare_swap(Rank{0}, words::busy_threads, seen, desired);
    further_.compare_exchange_strong(seen, desired);
    return seen;
  }

  TeamWords* const words_ = nullptr;
  std::atomic<std::uint64_t> further_{0};  // than the one of the initial task
};

}  // namespace musubi::omp
