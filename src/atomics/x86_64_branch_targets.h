// Where the branches of functions lead, and what holds there. The branches of a function lie behind those of
// the functions that wait for it. They go when the function has been walked over. Begins as zeros, which take
// no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "atomics/x86_64_frame.h"

namespace musubi::atomics::x86_64 {

class BranchTargets {
 public:
  struct Target {
    std::uintptr_t address;
    Frame frame;
    bool pending;  // to be walked from
  };

  std::size_t count() const noexcept { return count_; }
  Target& operator[](std::size_t index) noexcept { return targets_[index]; }

  // Among those from index `first` on; null: it is none.
  Target* find(std::uintptr_t address, std::size_t first) noexcept;
  // Result: false when there is no room. REQUIRES: it is none yet.
  bool add(std::uintptr_t address, const Frame& frame) noexcept;
  // Drops those from index `first` on.
  void drop(std::size_t first) noexcept;

 private:
  static constexpr std::size_t targets_max = 4096, places = 4 * targets_max;

  static std::size_t place_of(std::uintptr_t address) noexcept {
    return (address * 0x9e3779b97f4a7c15u >> 32) % places;
  }

  std::array<Target, targets_max> targets_;
  std::array<std::uint16_t, places> by_address_;  // index + 1, 0: free
  std::array<std::uint16_t, targets_max> place_;
  std::size_t count_;
};

}  // namespace musubi::atomics::x86_64
