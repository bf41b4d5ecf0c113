// The first meeting of a barrier whose ranks run tasks: it is over when every rank is done, that is when all
// its threads have come and all tasks that it made have ended, wherever they ran. A rank that is done stays
// so while it runs stolen tasks: what these make belongs to the rank that they were stolen from. So one count
// of the ranks that are done suffices. The ranks form a binary tree: "done" goes up, "go on" comes down.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "base/spin_lock.h"

namespace musubi::task_stealing {

// Any thread. It says which messages to send, and sends none.
class Meeting {
 public:
  Meeting(Rank self, std::uint32_t ranks) : self_(self), ranks_(ranks) {}

  // The caller must do this next.
  enum class Next : std::uint8_t { wait, tell_parent, over };

  std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  bool is_over(std::uint64_t number_of_meeting) const noexcept { return number() != number_of_meeting; }

  // This rank is done.
  Next come() {
    const Held held(lock_);
    here_ = true;
    return next();
  }
  // A child and all ranks below it are done with meeting `of`. Result: `refused` if it cannot be so.
  Next child_done(std::uint64_t of, bool& refused) {
    const Held held(lock_);
    refused = of != number() || done_below_ == children();
    if (refused) return Next::wait;
    ++done_below_;
    return next();
  }
  // All ranks are done. Result: false if it cannot be so.
  bool go_on(std::uint64_t of) {
    const Held held(lock_);
    if (of != number() || !told_parent_) return false;
    begin_next();
    return true;
  }

  Rank parent() const noexcept { return Rank{(self_.value - 1) / 2}; }
  std::uint32_t children() const noexcept {
    const std::uint64_t first = std::uint64_t{self_.value} * 2 + 1;
    return first + 1 < ranks_ ? 2 : first < ranks_ ? 1 : 0;
  }
  Rank child(std::uint32_t i) const noexcept { return Rank{self_.value * 2 + 1 + i}; }

 private:
  Next next() MUSUBI_REQUIRES(lock_) {
    if (!here_ || done_below_ != children()) return Next::wait;
    if (self_ == Rank{0}) {
      begin_next();
      return Next::over;
    }
    told_parent_ = true;
    return Next::tell_parent;
  }
  void begin_next() MUSUBI_REQUIRES(lock_) {
    here_ = told_parent_ = false;
    done_below_ = 0;
    number_.store(number() + 1, std::memory_order_release);
  }

  const Rank self_;
  const std::uint32_t ranks_;
  SpinLock lock_;
  bool here_ MUSUBI_GUARDED_BY(lock_) = false;
  bool told_parent_ MUSUBI_GUARDED_BY(lock_) = false;
  std::uint32_t done_below_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::atomic<std::uint64_t> number_{0};  // meetings that are over
};

}  // namespace musubi::task_stealing
