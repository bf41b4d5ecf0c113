// The tasks of this rank that have left, until they and all tasks that they made have ended, or until they
// come home before they have started. The number of a task goes with it, and comes back with reports.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/spin_lock.h"

namespace musubi::task_stealing {

// Any thread.
class AbsentTasks {
 public:
  // Result: the number, never 0.
  std::uint64_t enter(std::uint64_t task, Rank holder) {
    const Held held(lock_);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Place& place = places_[index];
    place = {task, holder, 1, ++place.generation, false, true};
    ++count_;
    return std::uint64_t{place.generation} << 32 | index;
  }
  // Another rank has it since that move. The news may come late, and in any order.
  void move(std::uint64_t number, std::uint32_t moves, Rank holder) {
    const Held held(lock_);
    Place* const place = find(number);
    if (place == nullptr || place->moves >= moves) return;
    place->moves = moves;
    place->holder = holder;
  }
  // The body has ended. Result: the task; none if that has been said before, or there is no such task.
  std::optional<std::uint64_t> end(std::uint64_t number) {
    const Held held(lock_);
    Place* const place = find(number);
    if (place == nullptr || place->ended) return std::nullopt;
    place->ended = true;
    return place->task;
  }
  // All that it made has ended, too. Result: as end(); the number is free then.
  std::optional<std::uint64_t> leave(std::uint64_t number) { return remove_if(true, number); }
  // It has come home.
  std::optional<std::uint64_t> come_home(std::uint64_t number) { return remove_if(false, number); }
  // The rank that has the task, as far as known; none: it is not away.
  std::optional<Rank> holder(std::uint64_t number) {
    const Held held(lock_);
    const Place* const place = find(number);
    if (place == nullptr) return std::nullopt;
    return place->holder;
  }
  // The task that has this number; 0: none.
  std::uint64_t task_of(std::uint64_t number) {
    const Held held(lock_);
    const Place* const place = find(number);
    return place == nullptr ? 0 : place->task;
  }
  // Calls visit(number, task) for each. Nothing changes here in that time.
  template <class Visit>
  void for_each(Visit visit) {
    const Held held(lock_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (place.in_use) visit(std::uint64_t{place.generation} << 32 | i, place.task);
    }
  }
  std::size_t count() {
    const Held held(lock_);
    return count_;
  }

 private:
  struct Place {
    std::uint64_t task = 0;
    Rank holder;
    std::uint32_t moves = 0;
    std::uint32_t generation = 0;
    bool ended = false;
    bool in_use = false;
  };

  Place* find(std::uint64_t number) MUSUBI_REQUIRES(lock_) {
    const std::uint64_t index = number & 0xffffffff;
    if (index >= places_.size()) return nullptr;
    Place& place = places_[index];
    return place.in_use && place.generation == number >> 32 ? &place : nullptr;
  }
  // The task of that number, whose body must have ended, or must not. Its number is free then.
  std::optional<std::uint64_t> remove_if(bool ended, std::uint64_t number) {
    const Held held(lock_);
    Place* const place = find(number);
    if (place == nullptr || place->ended != ended) return std::nullopt;
    place->in_use = false;
    free_.push_back(static_cast<std::uint32_t>(number));
    --count_;
    return place->task;
  }

  SpinLock lock_;
  std::vector<Place> places_ MUSUBI_GUARDED_BY(lock_);
  std::vector<std::uint32_t> free_ MUSUBI_GUARDED_BY(lock_);
  std::size_t count_ MUSUBI_GUARDED_BY(lock_) = 0;
};

}  // namespace musubi::task_stealing
