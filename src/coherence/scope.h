// The memory that a release or an acquire is about, and its occasion. A policy may do more than it is asked
// for: bytes that it publishes or shows beyond the scope come early, and no program can call that wrong.
#pragma once

#include <cstdint>
#include <limits>

#include "base/ids.h"
#include "vm/vm.h"

namespace musubi::coherence {

struct Scope {
  static constexpr std::uint64_t all_blocks = std::numeric_limits<std::uint64_t>::max();
  static constexpr LockId no_lock{std::numeric_limits<std::uint32_t>::max()};

  static constexpr Scope everything() { return {}; }
  // Of some segments, say, or of a range of addresses that the program names.
  static constexpr Scope of_blocks(vm::BlockRun blocks) {
    Scope scope;
    scope.blocks = blocks;
    return scope;
  }
  // The memory that is handed over with `lock`. A policy that binds memory to locks releases and acquires
  // that memory; all other policies take it for everything. `giver` had the lock before; while releasing,
  // this rank.
  static constexpr Scope of_lock(LockId lock, Rank giver) {
    Scope scope;
    scope.lock = lock;
    scope.giver = giver;
    return scope;
  }

  // Everything, at a barrier of all ranks: each releases, then all acquire.
  static constexpr Scope of_barrier() {
    Scope scope;
    scope.is_barrier = true;
    return scope;
  }

  constexpr bool has_lock() const { return lock != no_lock; }
  constexpr bool overlaps(vm::BlockRun run) const {
    const bool ends_before =
        blocks.count != all_blocks && blocks.first.value + blocks.count <= run.first.value;
    return !ends_before && blocks.first.value < run.first.value + run.count;
  }

  vm::BlockRun blocks{BlockId{0}, all_blocks};
  LockId lock = no_lock;
  Rank giver{};
  bool is_barrier = false;
};

}  // namespace musubi::coherence
