// What the bare kernel and processor charge for the steps that no implementation on pages and processes can
// avoid. Call them before a runtime takes hold of this process: the fault floors install a SIGSEGV handler
// for their duration, and the process floors fork.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rows.h"

namespace musubi::bench {

// What is compared with the fault floors works on as many blocks of the same size, over and over, so that the
// caches hold as much of them.
inline constexpr std::size_t fault_block_bytes = 32 * 1024;
inline constexpr std::size_t fault_block_count = 256;

// SIGSEGV, copy of a 32 KiB block, mprotect, return. Three rows: read of an invalid block, write of an
// invalid block (both filled through a second mapping), write of a readable block (a twin is kept).
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
