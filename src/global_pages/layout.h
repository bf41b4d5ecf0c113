// The data in registered memory: the directory entry of a page at its home, and a rank's slots for the pages
// that it knows. All words have 8 bytes, so that each is read as a whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace musubi::global_pages {

// A page, as every rank computes it.
struct Page {
  std::uint64_t key = 0;  // its global address: not 0
  std::uint64_t bytes = 0;
  Rank home{};                 // for good
  std::uint64_t entry_at = 0;  // of its entry, in the home's region
};

// The location of a page's bytes. It changes only when the page moves, and then the epoch changes, too:
// accesses that began before a move are counted separately from later ones.
struct Where {
  static constexpr unsigned owner_bits = 20;
  static constexpr unsigned place_bits = 43;
  static constexpr unsigned grain_bits = 4;  // a place is a multiple of 16 bytes

  std::uint64_t word = 0;

  static Where of(Rank owner, std::uint64_t place, unsigned epoch) {
    return {std::uint64_t{owner.value} << (place_bits + 1) | place >> grain_bits << 1 | (epoch & 1)};
  }
  Rank owner() const { return Rank{static_cast<std::uint32_t>(word >> (place_bits + 1))}; }
  // Offset of the first byte, in the owner's region.
  std::uint64_t place() const { return (word >> 1 & ((std::uint64_t{1} << place_bits) - 1)) << grain_bits; }
  unsigned epoch() const { return static_cast<unsigned>(word & 1); }
  friend bool operator==(Where, Where) = default;
};

// The entry of a page at its home. A rank whose sharer bit is not set has no valid slot for the page.
struct Entry {
  std::uint64_t mover = 0;  // 0: at rest; else the mark of the rank that moves the page
  Where where;
  // A bit for each rank follows the entry.

  static std::size_t bytes_for(std::uint32_t ranks) { return sizeof(Entry) + (ranks + 63) / 64 * 8; }
};
static_assert(sizeof(Entry) == 16);

// A rank's knowledge of one page, in its own region. Operations of the fabric change `lock`, or the processor
// if it may mix with them; the holder is a mover, which suspends writes by it, or a thread of the rank that
// loads another page into the slot. The holder may change `where`. Only the rank's processor writes the other
// fields; other ranks read them through the fabric.
struct alignas(64) Slot {
  std::uint64_t lock = 0;
  Where where;
  std::uint64_t page = 0;                // its key; 0: none
  std::uint64_t writes = 0;              // in progress
  std::array<std::uint64_t, 2> reads{};  // in progress, by the epoch of the place that they read
};
static_assert(sizeof(Slot) == 64);

// Values of Slot::lock and Entry::mover.
inline constexpr std::uint64_t unlocked = 0;
inline constexpr std::uint64_t fetching = 1;
constexpr std::uint64_t mark_of(Rank mover) {
  return (std::uint64_t{mover.value} + 1) << 1;
}
constexpr bool is_mover(std::uint64_t lock) {
  return lock > fetching;
}

}  // namespace musubi::global_pages
