// The places that two ranks have changed without an order between them, for the end of the job: the first
// byte, and for the report of races the first words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/spin_lock.h"

namespace musubi::coherence {

class RaceLog {
 public:
  struct Place {
    std::uintptr_t address;
    std::size_t bytes;  // 4 or 8
    Rank other;         // whose change met ours, the first time
    std::uint64_t times;
    bool kept_whole;  // the last time; else joined from both
  };
  static constexpr std::size_t places_max = 16;

  struct First {
    std::uintptr_t address;
    Rank other;  // whose change met ours
  };
  // A merge found a race. `joined`: a word of it is now that of neither side. Any thread; in a fault, too.
  void note_race(std::uintptr_t first, Rank other, bool joined) noexcept;
  // REQUIRES: no one notes at the same time. Result: none: there was no race.
  const std::optional<First>& first() const noexcept { return first_; }
  bool has_joined() const noexcept { return has_joined_; }

  // Any thread; in a fault, too. More places than fit are dropped.
  void note(std::uintptr_t address, std::size_t bytes, Rank other, bool kept_whole) noexcept;
  // REQUIRES: no one notes at the same time.
  std::span<const Place> places() const noexcept { return {places_.data(), count_}; }

 private:
  SpinLock lock_;
  std::optional<First> first_;
  bool has_joined_ = false;
  std::array<Place, places_max> places_{};
  std::size_t count_ = 0;
};

}  // namespace musubi::coherence
