// What the code around an atomic instruction makes of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atomics/x86_64_instruction.h"
#include "atomics/x86_64_sweep.h"

namespace musubi::atomics::x86_64 {

// Whether threads may meet by the instruction at `at`: what it finds is used for more than to compute what it
// stores. Three forms do not count, because nobody looks at the sum: `lock add` whose flags nobody reads, a
// loop that computes the new value from the one that it found and tries again (`omp atomic` on a double), and
// an addition that takes a place in a list (x86_64_places.h).
// `before`: a walk that has come to `at`.
bool orders(const std::uint8_t* code, std::size_t bytes, std::size_t at, const Instruction& instruction,
            const Recent& before) noexcept;

}  // namespace musubi::atomics::x86_64
