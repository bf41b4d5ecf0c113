// The first words that a rank found changed by two ranks, for the report at the end of the job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

  // Any thread; in a fault, too. More places than fit are dropped.
  void note(std::uintptr_t address, std::size_t bytes, Rank other, bool kept_whole) noexcept;
  // REQUIRES: nobody notes meanwhile.
  std::span<const Place> places() const noexcept { return {places_.data(), count_}; }

 private:
  SpinLock lock_;
  std::array<Place, places_max> places_{};
  std::size_t count_ = 0;
};

}  // namespace musubi::coherence
