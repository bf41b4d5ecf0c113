// Reductions over tasks. gcc passes a chain of descriptors, with these words (gcc 9 and later):
//   [0] number of variables   [1] bytes per thread   [2] in: alignment, out: memory, one part per thread
//   [4] next descriptor       [5] unused by the program: the set that the runtime makes of the chain
//   [6] out: end of that memory   [7+3i] address of variable i  [8+3i] its offset in a part
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/tasks/task_reductions.h"

namespace musubi::omp::gomp {

// For the calling task's group.
void group_reduction_begin(std::uintptr_t* descriptors);
void group_reduction_end(std::uintptr_t* descriptors);
// Before a region whose members run in groups; the program then merges the parts and calls
// group_reduction_end. `data`: of the region; begins with a pointer to the chain.
TaskReductions* team_reduction_begin(void* data, std::uint32_t threads);
// In a work-sharing construct; every thread calls them. Both include a barrier of the team.
void worksharing_reduction_begin(std::uintptr_t* descriptors);
void worksharing_reduction_end();
// Replaces each address by that of the calling thread's part; stores the original variables of the first
// `originals` addresses at addresses + count.
void remap_reductions(std::size_t count, std::size_t originals, void** addresses);

}  // namespace musubi::omp::gomp
