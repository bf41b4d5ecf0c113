// What a rank does that takes something of a block which sleeps at its home: it marks the block there
// (docs/decisions/private_blocks.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "coherence/core/visit_layout.h"
#include "coherence/regions.h"
#include "fabric/fabric.h"
#include "vm/vm.h"

namespace musubi::coherence::migrating {

inline constexpr std::size_t mark_steps = VisitLayout::levels + 1;

// The steps that mark the blocks of the run, from below, and count the visit last; puts them to `to`, which
// has room for mark_steps. `before`: a place for what is not needed, until the steps are done.
inline void mark(const VisitLayout& layout, vm::BlockRun run, fabric::Step* to, std::uint64_t* before) {
  static constexpr std::array<std::byte, VisitLayout::fanout> set = [] {
    std::array<std::byte, VisitLayout::fanout> bytes{};
    for (std::byte& byte : bytes) byte = std::byte{1};
    return bytes;
  }();
  MUSUBI_CHECK(run.count != 0 && run.count <= set.size());
  std::uint64_t first = run.first.value, last = run.first.value + run.count - 1;
  for (unsigned level = 0; level < VisitLayout::levels; ++level) {
    *to++ = fabric::put(words_region, layout.mark(level, first), set.data(), last - first + 1);
    first /= VisitLayout::fanout;
    last /= VisitLayout::fanout;
  }
  *to = fabric::fetch_add(words_region, layout.visits(), before, 1);
}

}  // namespace musubi::coherence::migrating
