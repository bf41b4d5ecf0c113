// Gets and puts by a fabric, several posted at once and then awaited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/fabric.h"

namespace musubi::bench {

struct Moves {
  fabric::Verb verb;
  std::size_t bytes, count;  // of each, and how many at once
};

// Where they go, by turns: blocks of 32 KiB of the peer's memory, over and over.
struct Target {
  Rank peer;
  fabric::RegionId region;
  std::uint64_t first;  // offset in the region
  std::uint64_t bytes;
};
inline constexpr std::size_t move_block_bytes = 32768;

// Nanoseconds of one of them, a sample for each round. `target` holds ones: that gets bring them is checked.
std::vector<double> time_moves(fabric::Fabric& fabric, const Target& target, const Moves& moves,
                               std::size_t rounds);

}  // namespace musubi::bench
