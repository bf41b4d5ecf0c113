// The lengths of common instructions, by tables: most of a program's code, at a fraction of the cost of
// decoding.
#pragma once

#include <cstddef>

namespace musubi::atomics::x86_64 {

// The length of the instruction at `code`, if the tables know it and it is neither atomic, nor a fence, nor a
// no-operation of several bytes; else 0, and the caller must decode it. Reads no byte beyond the instruction.
std::size_t common_length(const void* code, std::size_t available) noexcept;

}  // namespace musubi::atomics::x86_64
