// Which bytes of which block were written last, by which rank, and when. Ranks send each other lists of such
// runs; the bytes themselves stay in the public copies of the rank that lists them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/frame_pool.h"
#include "base/ids.h"

namespace musubi::coherence::entry {

// As it lies in registered memory.
struct Run {
  BlockId block;
  std::uint32_t begin;  // in the block
  std::uint32_t bytes;  // 0, in the list of a barrier: `writer` becomes the block's page manager
  std::uint64_t clock;  // of the writer, when it released them
  Rank writer;
  std::uint32_t time;  // of the lock in whose list this run is: its releases since the last barrier

  std::uint32_t end() const { return begin + bytes; }
};
static_assert(sizeof(Run) == 32);

// If happens-before orders two writes to the same byte, the later one has the greater clock. If not, the rank
// decides, so that all ranks keep the same.
constexpr bool is_older(const Run& a, const Run& b) {
  return a.clock != b.clock ? a.clock < b.clock : a.writer < b.writer;
}
constexpr bool is_before(const Run& a, const Run& b) {
  return a.block != b.block ? a.block < b.block : a.begin < b.begin;
}

using Runs = std::vector<Run, FrameAllocator<Run>>;

// In no list do two runs overlap. Lists are sorted by place (is_before), unless it says otherwise.

// The parts of `list` that `newer` does not cover; `list` in any order, which stays.
Runs remainder(std::span<const Run> list, std::span<const Run> newer);
// `newer`, and after it the parts of `list` that it does not cover; both in any order, which stays.
void put_in_front(Runs& list, std::span<const Run> newer);
// `newer` over `known`.
void lay_over(Runs& known, std::span<const Run> newer);
// The parts of `runs` about which `known` has nothing as new.
Runs newest_parts(std::span<const Run> runs, std::span<const Run> known);

}  // namespace musubi::coherence::entry
