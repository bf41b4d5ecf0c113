// Loops with dependences between iterations. The compiler announces the nest before the loop that distributes
// it, and names iterations by the values of the loop variables.
#pragma once

#include <cstdint>

#include "omp/icv.h"
#include "omp/iteration_space.h"

namespace musubi::omp::kmp {

// At the beginning of each work-shared loop: if the calling thread has announced a nest, enters it instead of
// a plain loop. `by_shares`: the thread does not ask for chunks, but computes its shares; the loop's
// specification then has its chunk. Result: whether there is a nest.
bool begin_announced_doacross(const IterationSpace& space, Schedule schedule, std::uint64_t chunk,
                              bool by_shares);

}  // namespace musubi::omp::kmp
