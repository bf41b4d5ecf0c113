// A block whose gate the task holds: the token of all functions that work on a block. Ground alone makes one
// (enter(), try_enter()), and the gate is left when it is destroyed.
#pragma once

#include <utility>

#include "base/event.h"
#include "coherence/store/block_store.h"

namespace musubi::coherence::migrating {

struct Ground;

class HeldBlock : public Block {
 public:
  HeldBlock(HeldBlock&& other) noexcept
      : Block(other), ground_(std::exchange(other.ground_, nullptr)), pass_(std::move(other.pass_)) {}
  HeldBlock& operator=(HeldBlock&&) = delete;
  // REQUIRES: the invariants of a block hold (rules/invariants.h).
  ~HeldBlock();

 private:
  friend struct Ground;
  HeldBlock(const Ground& ground, const Block& block, Gate::Pass pass) noexcept
      : Block(block), ground_(&ground), pass_(std::move(pass)) {}

  const Ground* ground_;
  Gate::Pass pass_;
};

}  // namespace musubi::coherence::migrating
