// Atomic additions by which a thread reserves a place in a list.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::atomics::x86_64 {

// `lists[fill++] = value`: whether the code at `at`, after an addition whose result is in general register
// number `result`, uses the result only for addresses of stores. Then no value that the thread reads, and no
// decision of it, depends on the result. Follows registers on all paths; a result that goes to memory, to
// another function or through more than some hundred instructions counts as used.
bool only_takes_a_place(const std::uint8_t* code, std::size_t bytes, std::size_t at,
                        unsigned result) noexcept;

}  // namespace musubi::atomics::x86_64
