// Gets and puts by a fabric, several posted at once and then awaited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/fabric.h"

namespace musubi::bench {

struct Moves {
  fabric::Verb verb;
  std::size_t bytes, count;  // bytes of each move, and how many are posted at once
};

// Targets, used in turn: blocks of 32 KiB of the peer's memory, repeatedly.
struct Target {
  Rank peer;
  fabric::RegionId region;
  std::uint64_t first;  // offset in the region
  std::uint64_t bytes;
};
inline constexpr std::size_t move_block_bytes = 32768;

// Nanoseconds of one move, a sample for each round. `target` holds ones; gets are checked to have brought
// them.
std::vector<double> time_moves(fabric::Fabric& fabric, const Target& target, const Moves& moves,
                               std::size_t rounds);

}  // namespace musubi::bench
