// Blocks that are always open here: the stacks of the rank's running threads, and what of them is in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/migrating/ground.h"
#include "coherence/migrating/held_back.h"
#include "coherence/migrating/stacks_in_use.h"

namespace musubi::coherence::migrating {

class Stacks {
 public:
  Stacks(Ground& ground, const HeldBackStore& held_back) : ground_(ground), held_back_(held_back) {}

  // As Protocol::pin() and Protocol::note_stack().
  void pin(BlockId first, std::uint64_t count);
  void note(std::size_t range, std::uintptr_t low, std::uintptr_t high) { in_use_.set(range, low, high); }

  // Ranges from here on were never in use.
  std::size_t end() const { return in_use_.end(); }
  // The blocks of a range that are in use now; none: count 0.
  vm::BlockRun blocks(std::size_t range) const;
  // Whether the bytes between `begin` and `end` of the range in use are those of the public copy. Bytes below
  // them in the lowest block are left from calls that have returned, the runtime's own among them.
  bool is_unchanged(std::size_t range, std::uintptr_t begin, std::uintptr_t end) const;
  bool all_are_unchanged() const;

 private:
  Ground& ground_;
  const HeldBackStore& held_back_;
  StacksInUse in_use_;
};

}  // namespace musubi::coherence::migrating
