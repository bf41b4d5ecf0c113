// How wide the store is that an instruction makes.
#pragma once

#include <cstddef>

namespace musubi::atomics {

// 1, 2, 4 or 8 for a plain store of one scalar: of a general register, an immediate or a float, or the result
// of arithmetic in memory. 0 for all else: vectors and their parts, string instructions and atomics say
// nothing about the width of the elements. Reads the instruction at `code` and no byte beyond it.
// Signal-safe.
std::size_t store_bytes(const void* code) noexcept;

}  // namespace musubi::atomics
