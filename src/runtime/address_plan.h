// Where the shared segments lie: the same addresses on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "config/settings.h"
#include "runtime/runtime.h"
#include "vm/space.h"

namespace musubi::runtime {

struct AddressPlan {
  vm::Space space;
  Layout layout;
  std::size_t heap_segment;
  std::size_t stacks_segment;
  std::size_t first_globals_segment;  // then one segment per range

  // Errors: more address space than the processor has, too many ranges.
  static Result<AddressPlan> make(const config::Settings& settings, std::uint32_t ranks,
                                  std::span<const SharedRange> globals);
};

}  // namespace musubi::runtime
