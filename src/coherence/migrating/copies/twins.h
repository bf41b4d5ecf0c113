// Private bytes and their twins: comparing them tells the changes of this rank.
#pragma once

#include <cstddef>

#include "coherence/migrating/copies/deferred_updates.h"
#include "coherence/migrating/ground/ground.h"
#include "coherence/store/block_list.h"

namespace musubi::coherence::migrating {

class Twins {
 public:
  Twins(Ground& ground, DeferredUpdates& deferred)
      : ground_(ground), deferred_(deferred), copies_(ground.space.blocks_max()) {}

  // The public copy becomes the twin for the writes that follow.
  void make(HeldBlock& b);
  // Copies the changes of this rank to the public copy, and notes their lines unless `lines` is null. Result:
  // whether there are any. REQUIRES: no lines are noted of a block that is held back.
  bool publish_changes(const HeldBlock& b, LineMask* lines = nullptr);
  bool differs(const HeldBlock& b);
  // The changes of this rank on top of the twin stay, the rest becomes `remote`, which comes from `giver`.
  void merge(const HeldBlock& b, const std::byte* remote, Rebase rebase, Rank giver);

  // The public copy is written.
  void note_copy(const HeldBlock& b) {
    Entry& e = b.entry;
    e.habits.copy_written = true;
    e.published.memory_gone = false;
    if (e.queues.copies || e.copy.pinned || ground_.store.memory().pages == nullptr) return;
    e.queues.copies = true;
    copies_.add(b.id);
  }
  // The public copies that are kept here.
  BlockList& copies() { return copies_; }

 private:
  Sharing sharing_of(const HeldBlock& b) const;

  Ground& ground_;
  DeferredUpdates& deferred_;
  BlockList copies_;
};

}  // namespace musubi::coherence::migrating
