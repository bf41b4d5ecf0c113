// Facts known beforehand about the plain stores of a program (docs/decisions/merge_unit.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace musubi {

struct NarrowPlace {
  std::uintptr_t address;
  std::size_t bytes;
};

// Outside of stacks no store is narrower than `bytes` (1, 2, 4 or 8), except stores that write all bytes of
// one of the `exceptions`. The exceptions of all bounds of a rank lie in one table, which only grows.
struct StoreBound {
  std::size_t bytes = 1;
  std::span<const NarrowPlace> exceptions{};
};

}  // namespace musubi
