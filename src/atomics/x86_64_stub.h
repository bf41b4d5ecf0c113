// The machine code that replaces one atomic instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atomics/ranges.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// At the start of the stubs' pages, so that they reach it relative to themselves.
struct StubHeader {
  std::uintptr_t entry = 0;
  std::size_t filter_count = 0;
  AddressInterval filter[SharedRanges::filter_count_max];
};

inline constexpr std::size_t stub_bytes_max = 384;

// Writes the stub of `instruction`, located at `site`, to `at`, where it will run. `header` and `at` must be
// within 2 GiB of the site. Result: its length, or 0 if it cannot be built there (data out of reach).
std::size_t write_stub(std::uint8_t* at, const StubHeader& header, const Instruction& instruction,
                       std::uintptr_t site);

}  // namespace musubi::atomics::x86_64
