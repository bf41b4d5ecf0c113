// The state of a rank that is not about one block: its logical times, whether its threads run program code,
// and the cost of its comparisons.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"
#include "coherence/core/version.h"

namespace musubi::coherence::migrating {

// The logical times of a rank. Each of them only rises. Any thread.
class Times {
 public:
  // The time below which this rank may hold no lapsed copy.
  LogicalTime acquired() const { return LogicalTime{acquired_.load()}; }
  // acquired(), once every copy that had to go is gone.
  LogicalTime expired() const { return LogicalTime{expired_.load()}; }
  // The latest time that this rank knows of.
  LogicalTime clock() const { return LogicalTime{clock_.load()}; }

  void raise_acquired(LogicalTime time) { raise(acquired_, time); }
  // REQUIRES: `acquired` has reached the time.
  void raise_expired(LogicalTime time) {
    MUSUBI_CHECK(acquired() >= time);
    raise(expired_, time);
  }
  void raise_clock(LogicalTime time) { raise(clock_, time); }

 private:
  std::atomic<std::uint64_t> acquired_{0};
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> clock_{0};
};

// When no thread of the rank runs program code: between the quiescent release of a barrier and the end of its
// acquire, and while the rank's only thread is in the runtime elsewhere. Open pages may change then.
// Each such time has a number, so that a finding of one time is not taken to hold in another.
class Quiescence {
 public:
  // The quiescent release and the acquire of a barrier; one at a time.
  void begin_barrier() noexcept { at_barrier_.store(++barriers_, std::memory_order_relaxed); }
  void end_barrier() noexcept { at_barrier_.store(0, std::memory_order_relaxed); }
  bool is_at_barrier() const noexcept { return at_barrier_.load() != 0; }
  std::uint32_t barriers() const noexcept { return barriers_; }

  void set_elsewhere(bool quiescent) noexcept {
    elsewhere_.store(quiescent ? numbers_elsewhere | ++times_ : 0);
  }

  // 0: threads may run program code.
  std::uint32_t number() const noexcept {
    const std::uint32_t at_barrier = at_barrier_.load();
    return at_barrier != 0 ? at_barrier : elsewhere_.load();
  }
  explicit operator bool() const noexcept { return number() != 0; }

 private:
  // From here on: none of them is the number of a barrier.
  static constexpr std::uint32_t numbers_elsewhere = 1u << 31;

  std::uint32_t barriers_ = 0;  // whose release has begun
  std::uint32_t times_ = 0;     // of the other kind
  std::atomic<std::uint32_t> at_barrier_{0};
  std::atomic<std::uint32_t> elsewhere_{0};
};

// Whether the blocks that releases compare fit into the core's cache. If they do not, a comparison costs more
// than the fault that it saves (rules/publication.h).
class ComparisonCost {
 public:
  explicit ComparisonCost(std::size_t cached_bytes) : cached_bytes_(cached_bytes) {}

  // Releases differ, those of a program's phases: the largest of the last ones counts.
  void begin_release() noexcept {
    lately_ = std::max(bytes_, lately_ - lately_ / 8);
    is_high_.store(lately_ > cached_bytes_);
    bytes_ = 0;
  }
  // This release has compared so many bytes more. A first large release counts before it has ended.
  void add(std::size_t bytes) noexcept {
    bytes_ += bytes;
    if (bytes_ > cached_bytes_) is_high_.store(true);
  }
  // Faults look at it, too.
  bool is_high() const noexcept { return is_high_.load(); }

 private:
  const std::size_t cached_bytes_;
  std::size_t bytes_ = 0;  // by this release so far
  std::size_t lately_ = 0;
  std::atomic<bool> is_high_{false};
};

}  // namespace musubi::coherence::migrating
