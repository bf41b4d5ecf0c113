// The lengths of common instructions, by tables: most of a program's code, at a fraction of what decoding it
// costs.
#pragma once

#include <cstddef>

namespace musubi::atomics::x86_64 {

// The length of the instruction at `code`, if it is one whose length the tables know and which is neither
// atomic, nor a fence, nor a no-operation of several bytes; else 0: then a decoder has to look. Reads no byte
// beyond the instruction.
std::size_t common_length(const void* code, std::size_t available) noexcept;

}  // namespace musubi::atomics::x86_64
