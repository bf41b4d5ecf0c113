// Whether the blocks that releases compare fit into the core's cache. If they do not, a comparison costs more
// than the fault that it saves (rules/publication.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace musubi::coherence::migrating {

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
