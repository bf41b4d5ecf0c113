// The updates bound to each lock: all that a rank that held it has released between its acquire and its
// release (paper SMS, sections 3.2 and 5.3). The last holder has the whole list, and the bytes.
#pragma once

#include <cstdint>

#include "base/sparse_array.h"
#include "base/task.h"
#include "coherence/entry/ground.h"
#include "coherence/entry/pages.h"
#include "coherence/entry/updates.h"

namespace musubi::coherence::entry {

// Under the door.
class Locks {
 public:
  Locks(Ground& ground, Pages& pages, Updates& updates, std::uint64_t locks)
      : ground_(ground), pages_(pages), updates_(updates), holdings_(locks) {}

  // This rank has the lock, and `giver` had it before: another rank, or this one.
  Task<> take(LockId lock, Rank giver);
  // Binds the writes since take(). Before any other rank gets the lock.
  Task<> give(LockId lock);

  // The list at offset `head` of the region, as that of a lock: bring the additions of `giver`; add.
  Task<> bring(std::uint64_t head, Rank giver);
  void add(std::uint64_t head, Runs runs);

 private:
  // A lock that this rank holds.
  struct Holding {
    std::uint64_t clock;     // when it was taken: later updates have a greater one
    std::uint64_t position;  // in the updates that Pages has committed
    bool held;
  };
  ListHead& head_of_epoch(std::uint64_t head);
  Runs committed_since(const Holding& holding);

  Ground& ground_;
  Pages& pages_;
  Updates& updates_;
  SparseArray<Holding> holdings_;
  std::size_t held_ = 0;
};

}  // namespace musubi::coherence::entry
