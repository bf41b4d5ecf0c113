// The tasks that other ranks have stolen from this one, until they and all tasks that they made have ended.
// The number of a task goes with it, and comes back with reports.
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
  std::uint64_t enter(std::uint64_t task, Rank thief) {
    const Held held(lock_);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Place& place = places_[index];
    place = {task, thief, ++place.generation, false, true};
    ++count_;
    return std::uint64_t{place.generation} << 32 | index;
  }
  // The body has ended. Result: the task; none if `thief` does not have it, or has said so before.
  std::optional<std::uint64_t> end(std::uint64_t number, Rank thief) {
    const Held held(lock_);
    Place* const place = find(number, thief);
    if (place == nullptr || place->ended) return std::nullopt;
    place->ended = true;
    return place->task;
  }
  // All that it made has ended, too. Result: as end(); the number is free then.
  std::optional<std::uint64_t> leave(std::uint64_t number, Rank thief) {
    return remove_if(true, number, thief);
  }
  // `thief` did not accept it.
  std::optional<std::uint64_t> cancel(std::uint64_t number, Rank thief) {
    return remove_if(false, number, thief);
  }
  // The rank that has the task whose body has not ended yet, and its number there.
  struct Whereabouts {
    Rank thief;
    std::uint64_t number;
  };
  std::optional<Whereabouts> find(std::uint64_t task) {
    const Held held(lock_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (place.in_use && !place.ended && place.task == task)
        return Whereabouts{place.thief, std::uint64_t{place.generation} << 32 | i};
    }
    return std::nullopt;
  }
  // The task that has this number; 0: none.
  std::uint64_t task_of(std::uint64_t number, Rank thief) {
    const Held held(lock_);
    const Place* const place = find(number, thief);
    return place == nullptr ? 0 : place->task;
  }
  std::size_t count() {
    const Held held(lock_);
    return count_;
  }

 private:
  struct Place {
    std::uint64_t task = 0;
    Rank thief;
    std::uint32_t generation = 0;
    bool ended = false;
    bool in_use = false;
  };

  Place* find(std::uint64_t number, Rank thief) MUSUBI_REQUIRES(lock_) {
    const std::uint64_t index = number & 0xffffffff;
    if (index >= places_.size()) return nullptr;
    Place& place = places_[index];
    return place.in_use && place.generation == number >> 32 && place.thief == thief ? &place : nullptr;
  }
  // The task of that number, whose body must have ended, or must not. Its number is free then.
  std::optional<std::uint64_t> remove_if(bool ended, std::uint64_t number, Rank thief) {
    const Held held(lock_);
    Place* const place = find(number, thief);
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
