// The blocks of which a rank has a copy whose home is elsewhere. For the simulator: one thread per rank.
#pragma once

#include <cstddef>
#include <vector>

#include "coherence/rules/states.h"
#include "coherence/store/block_store.h"

namespace musubi::coherence {

class CopyList {
 public:
  void add(Block& b) {
    if (b.entry.queues.leases) return;
    b.entry.queues.leases = true;
    blocks_.push_back(b.id);
  }
  // Calls visit(Block&) for the copies that are still valid, and forgets the rest. `block` makes a Block from
  // an id.
  template <class MakeBlock, class Visit>
  void for_each(MakeBlock&& block, Visit&& visit) {
    std::size_t kept = 0;
    for (const BlockId id : blocks_) {
      Block b = block(id);
      if (rules::is_valid(b.entry)) visit(b);
      b.entry.queues.leases = rules::is_valid(b.entry);
      if (b.entry.queues.leases) blocks_[kept++] = id;
    }
    blocks_.resize(kept);
  }

 private:
  std::vector<BlockId> blocks_;
};

}  // namespace musubi::coherence
