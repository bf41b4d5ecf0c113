// Clean copies are thrown out when memory gets short (evictions.cpp).
#pragma once

#include <cstddef>

#include "base/task.h"
#include "coherence/migrating/copies/arrivals.h"
#include "coherence/store/residents.h"

namespace musubi::coherence::migrating {

class Evictions {
 public:
  Evictions(Ground& ground, Arrivals& arrivals) : ground_(ground), arrivals_(arrivals) {}

  // As Room.
  Task<std::size_t> throw_out(std::size_t bytes);
  // Throws the copy out if it is closed and has no changes. Under the release gate. Result: whether its bytes
  // are gone.
  Task<bool> evict_if_unused(HeldBlock& b);

 private:
  Task<std::size_t> look_at(BlockId id, bool was_on_trial);
  Task<bool> evict(HeldBlock& b);
  Task<bool> may_be_taken_here(const HeldBlock& b);
  void forget_public_copy(HeldBlock& b);

  Ground& ground_;
  Arrivals& arrivals_;
};

}  // namespace musubi::coherence::migrating
