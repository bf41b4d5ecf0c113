// What the bare kernel and processor charge for the steps that no implementation on pages and processes can
// avoid. Call them before a runtime takes hold of this process: the fault floors install a SIGSEGV handler
// for their duration, and the process floors fork.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rows.h"

namespace musubi::bench {

// What is compared with the fault floors works on as many blocks of the same size, over and over. A copy from
// memory takes three times as long as one from the caches, and mprotect half as long again: so both are
// measured with few blocks, of which not only the floor's two views (4 MiB) but also the eight of two ranks
// with two groups of blocks (16 MiB) lie in a last cache of 32 MiB, and with many, that lie in none.
inline constexpr std::size_t fault_block_bytes = 32 * 1024;
struct FaultBlocks {
  std::size_t count;
  const char* suffix;  // of the rows
};
inline constexpr FaultBlocks fault_blocks[] = {{64, ""}, {2048, ", from memory"}};

// SIGSEGV, copy of a 32 KiB block, mprotect, return. Three rows for each of fault_blocks: read of an invalid
// block, write of an invalid block (both filled through a second mapping), write of a readable block (a twin
// is kept).
std::vector<Row> fault_floors(std::size_t rounds);

// Barrier of 2 processes that spin, pinned on 2 cores.
Row spin_barrier_floor(std::size_t rounds);

// Barrier of 4 processes that yield up to 50 times, then sleep in a futex; two rows: they are pinned on 2
// cores, or placed by the kernel.
std::vector<Row> yielding_barrier_floors(std::size_t rounds);

// A fair mutex passed to and fro between 2 processes on 2 cores, from release to acquisition; two rows: the
// waiter spins before it sleeps, the waiter sleeps at once.
std::vector<Row> mutex_floors(std::size_t rounds);

std::vector<Row> all_floors(std::size_t rounds);

// One part of them: "faults", "spin_barrier", "yielding_barrier" or "mutex"; no rows for another name.
std::vector<Row> some_floors(std::string_view part, std::size_t rounds);

}  // namespace musubi::bench
