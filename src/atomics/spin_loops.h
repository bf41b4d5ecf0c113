// Finds loops in machine code that only a store by another thread can end.
#pragma once

#include <cstddef>

namespace musubi::atomics {

// Whether the code has a loop that loads from memory, compares, and changes nothing that it loads from.
// Compilers make such a loop from a wait by `omp atomic read`, std::atomic's load or a volatile. Accepts any
// bytes. Misses loops that call functions, except the small functions of unoptimised code.
bool has_spin_loops(const void* code, std::size_t bytes) noexcept;

}  // namespace musubi::atomics
