// Blocks that no other rank reads have no public copy and no twin at their home (unpublished.cpp).
#pragma once

#include "base/task.h"
#include "coherence/migrating/copies/line_copies.h"
#include "coherence/migrating/copies/versions.h"
#include "coherence/migrating/ownership/downgrades.h"

namespace musubi::coherence::migrating {

class Unpublished {
 public:
  Unpublished(Ground& ground, Versions& versions, Twins& twins, LineCopies& lines, Downgrades& downgrades)
      : ground_(ground), versions_(versions), twins_(twins), lines_(lines), downgrades_(downgrades) {}

  // The block is about to be opened for writing. Result: whether it needs no twin, because this rank is its
  // home and no other rank can hold its version.
  Task<bool> leave_unpublished(HeldBlock& b);
  // A release of an unpublished block that is writable: under its lock, at its home.
  void release(HeldBlock& b, Version version, bool quiescent);

  // As releases begin, one at a time: a rank that reads or locks a sleeping block from here on finds the
  // released bytes. Result: whether no block need wake.
  bool begin_release();
  // Wakes the blocks that other ranks have marked; all blocks, while order is kept.
  Task<> wake_visited();

 private:
  void fall_asleep(HeldBlock& b);
  bool must_all_wake() { return ground_.keeps_order() && !ground_.sleepers.empty(); }
  enum class Sleepers : bool { keep_it, drop_it };
  Task<> wake(BlockId id, Sleepers sleepers);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  LineCopies& lines_;
  Downgrades& downgrades_;
};

}  // namespace musubi::coherence::migrating
