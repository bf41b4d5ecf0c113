// The use that the code around an atomic instruction makes of its result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// Whether threads may synchronise by the instruction at `at`: the code uses the old value for more than to
// compute the new one. Three forms do not count, because no code reads the sum: `lock add` whose flags are
// not read, a loop that computes the new value from the old one and retries (`omp atomic` on a double), and
// an addition that reserves a place in a list (only_takes_a_place). `before`: the walk up to `at`.
bool orders(const std::uint8_t* code, std::size_t bytes, std::size_t at, const Instruction& instruction,
            const Recent& before) noexcept;

// Atomic additions by which a thread reserves a place in a list.

// `lists[fill++] = value`: whether the code at `at`, after an addition whose result is in general register
// number `result`, uses the result only for addresses of stores. Then no value that the thread reads, and no
// decision of it, depends on the result. Follows registers on all paths; a result that goes to memory, to
// another function or through more than some hundred instructions counts as used.
bool only_takes_a_place(const std::uint8_t* code, std::size_t bytes, std::size_t at,
                        unsigned result) noexcept;

}  // namespace musubi::atomics::x86_64
