// Atomic operations at the home of a block that this rank is, or reaches: on the words that the home's
// program sees, with no block compared and none moved (docs/decisions/atomic_operations.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/task.h"
#include "coherence/core/block_words.h"
#include "coherence/migrating/versions.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class HomeAtomics {
 public:
  HomeAtomics(Ground& ground, Versions& versions) : ground_(ground), versions_(versions) {}

  // Under the block's gate. Result: whether it was done; otherwise nothing has changed, and the operation
  // must bring the block here. Waits for nobody for long.
  Task<bool> modify(Block& b, Modification& modification);

 private:
  // The home of a block, as this process reaches it.
  struct Place {
    Rank home;
    BlockWords* words;
    std::uint64_t* order;  // VisitLayout::order(), held_back()
    HomeBytes bytes;
  };
  bool may_be_modified(const Block& b, const Modification& modification) const;
  bool find(const Block& b, Place& place) const;
  enum class Lock { taken, busy, elsewhere };
  Lock lock(const Block& b, Place& place) const;
  bool has_plain_changes(const Block& b, const Modification& modification) const;
  bool may_modify(const Block& b, const Place& place, const Modification& modification) const;
  void modify_at(Block& b, const Place& place, Modification& modification);
  void tell(Block& b, const Place& place);

  Ground& ground_;
  Versions& versions_;
};

}  // namespace musubi::coherence::migrating
