// The use that the code around an atomic instruction makes of its result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atomics/x86_64_instruction.h"
#include "atomics/x86_64_sweep.h"

namespace musubi::atomics::x86_64 {

// Whether threads may synchronise by the instruction at `at`: the code uses the old value for more than to
// compute the new one. Three forms do not count, because no code reads the sum: `lock add` whose flags are
// not read, a loop that computes the new value from the old one and retries (`omp atomic` on a double), and
// an addition that reserves a place in a list (x86_64_places.h). `before`: the walk up to `at`.
bool orders(const std::uint8_t* code, std::size_t bytes, std::size_t at, const Instruction& instruction,
            const Recent& before) noexcept;

}  // namespace musubi::atomics::x86_64
