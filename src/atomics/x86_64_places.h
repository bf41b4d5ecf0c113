// Atomic additions by which a thread takes a place in a list.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::atomics::x86_64 {

// `lists[fill++] = value`: whether the code at `at`, behind an addition whose result is in general register
// number `result`, makes no more of the result than addresses to store to. Then nothing that the thread reads
// or decides depends on what it has found. Registers are followed on all ways; a result that goes to memory,
// to another function or through more than some hundred instructions counts as looked at.
bool only_takes_a_place(const std::uint8_t* code, std::size_t bytes, std::size_t at,
                        unsigned result) noexcept;

}  // namespace musubi::atomics::x86_64
