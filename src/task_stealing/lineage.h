// The tasks around a task that have left their homes: for each rank the innermost one that was made there. By
// this a rank knows which of its tasks a task descends from, though it was made elsewhere: a thread that
// waits for a task may run what descends from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "task_stealing/ports.h"

namespace musubi::task_stealing {

// Travels with a task, as the first bytes() of it.
class Lineage {
 public:
  // A task with so many ranks in its lineage leaves its rank only for a thread that waits for it.
  static constexpr std::uint32_t ranks_max = 16;

  bool is_full() const noexcept { return count_ >= ranks_max; }
  std::size_t bytes() const noexcept { return offsetof(Lineage, entries_) + count_ * sizeof(Origin); }

  // The task is made by `parent`, which came from another rank and has the lineage so far. If there is no
  // room, the outermost rank is forgotten.
  void add(const Origin& parent) noexcept {
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (entries_[i].home != parent.home) entries_[kept++] = entries_[i];
    }
    if (kept == ranks_max) {
      for (std::uint64_t i = 1; i < kept; ++i) entries_[i - 1] = entries_[i];
      --kept;
    }
    entries_[kept] = parent;
    count_ = kept + 1;
  }
  // The number of the innermost task around it that was made at `home`; 0: there is none.
  std::uint64_t number_at(Rank home) const noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (entries_[i].home == home) return entries_[i].number;
    }
    return 0;
  }

 private:
  std::uint64_t count_ = 0;
  Origin entries_[ranks_max];  // the outermost first
};

}  // namespace musubi::task_stealing
