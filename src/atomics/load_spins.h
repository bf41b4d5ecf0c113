// Loops of finished machine code that can only end by what somebody else stores.
#pragma once

#include <cstddef>

namespace musubi::atomics {

// Whether there is a loop that loads from memory, compares, and changes nothing that it loads from. Compilers
// translate a wait for `omp atomic read`, for std::atomic's load or for a volatile so. Any bytes may be
// given. Loops that call functions are not found, except the small functions of unoptimised code.
bool has_load_spins(const void* code, std::size_t bytes) noexcept;

}  // namespace musubi::atomics
