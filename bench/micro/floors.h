// Costs, on the bare kernel and processor, of the steps that no implementation on pages and processes can
// avoid. Call these functions before a runtime takes hold of this process: the fault floors install a SIGSEGV
// handler for their duration, and the process floors fork.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rows.h"

namespace musubi::bench {

// Measurements compared with the fault floors work on as many blocks of the same size, repeatedly. A copy
// from memory takes three times as long as one from the caches, and mprotect half as long again: so both are
// measured twice, with few blocks, of which not only the floor's two views (4 MiB) but also the eight views
// of two ranks with two groups of blocks (16 MiB) fit a last-level cache of 32 MiB, and with many blocks,
// which fit no cache.
inline constexpr std::size_t fault_block_bytes = 32 * 1024;
struct FaultBlocks {
  std::size_t count;
  const char* suffix;  // appended to the names of the rows
};
inline constexpr FaultBlocks fault_blocks[] = {{64, ""}, {2048, ", from memory"}};

// SIGSEGV, copy of a 32 KiB block, mprotect, return. Three rows for each of fault_blocks: read of an invalid
// block, write of an invalid block (both filled through a second mapping), write of a readable block (a twin
// is kept).
std::vector<Row> fault_floors(std::size_t rounds);

// Barrier of 2 processes that spin, pinned on 2 cores.
Row spin_barrier_floor(std::size_t rounds);

// Barrier of 4 processes that yield up to 50 times, then sleep in a futex; two rows: pinned on 2 cores, and
// placed by the kernel.
std::vector<Row> yielding_barrier_floors(std::size_t rounds);

// A fair mutex handed to and fro between 2 processes on 2 cores, from release to acquisition; two rows: the
// waiter spins before it sleeps, the waiter sleeps at once.
std::vector<Row> mutex_floors(std::size_t rounds);

std::vector<Row> all_floors(std::size_t rounds);

// One part of the rows: "faults", "spin_barrier", "yielding_barrier" or "mutex"; no rows for another name.
std::vector<Row> some_floors(std::string_view part, std::size_t rounds);

}  // namespace musubi::bench
