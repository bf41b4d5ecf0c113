// Blocks that nobody else reads have no public copy and no twin at their home (unpublished.cpp).
#pragma once

#include <cstddef>
#include <span>

#include "base/task.h"
#include "coherence/migrating/downgrades.h"
#include "coherence/migrating/versions.h"

namespace musubi::coherence::migrating {

class Unpublished {
 public:
  Unpublished(Ground& ground, Versions& versions, Twins& twins, Downgrades& downgrades)
      : ground_(ground), versions_(versions), twins_(twins), downgrades_(downgrades) {}

  // The block is about to be opened for writing, its gate held. Result: whether it needs no twin, because
  // this rank is its home and nobody can hold its version.
  Task<bool> leave_unpublished(Block& b);
  // Most of what a release walks over: blocks of which nobody has taken anything. No lock is needed to pass
  // them, and the gate is only tried. Result: whether that is all, and the block stays listed.
  bool passes_unread(std::span<const BlockId> listed, std::size_t place);
  // A release of an unpublished block that is writable: under its gate and lock, at its home.
  void release(Block& b, Version version, bool quiescent);

 private:
  void pass_live(Block& b);
  void protect(Block& b);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  Downgrades& downgrades_;
};

}  // namespace musubi::coherence::migrating
