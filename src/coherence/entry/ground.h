// The common ground of the parts of the policy.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "coherence/core/parameters.h"
#include "coherence/entry/board.h"
#include "coherence/store/block_store.h"
#include "fabric/fabric.h"
#include "trace/counters.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence::entry {

struct Ground {
  using Counter = trace::Counter;

  const vm::Space& space;
  fabric::Fabric& fabric;
  vm::Vm& vm;
  trace::Counters& counters;
  const Parameters& parameters;
  BlockStore store;
  Board board;

  // Held by each release, acquire and atomic operation, around the gates of blocks. Its holder waits for no
  // other rank's tasks.
  Gate door;
  // A Lamport clock (under the door): a release of this rank gets a greater clock than all that it has
  // acquired.
  std::uint64_t clock = 0;
  // Barriers passed. Changes while no thread of the rank runs program code.
  std::atomic<std::uint64_t> epoch{0};

  Rank self() const { return fabric.self(); }
  bool injected(InjectedBug bug) const { return parameters.hooks.injected(bug); }
  void count(Counter counter, std::uint64_t amount = 1) const { counters.add(counter, amount); }
  // The bit of a rank in its word of a copy set, and where that word lies.
  static std::uint64_t bit_of(Rank rank) { return std::uint64_t{1} << (rank.value % 64); }
  std::uint64_t word_in_copy_set(BlockId block, Rank rank) const {
    return board.copy_set(block) + rank.value / 64 * sizeof(std::uint64_t);
  }
};

}  // namespace musubi::coherence::entry
