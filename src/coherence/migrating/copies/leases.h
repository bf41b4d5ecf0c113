// The time until which this rank may read its copies: leases are watched, and copies end.
#pragma once

#include "base/task.h"
#include "coherence/migrating/copies/run_builder.h"
#include "coherence/migrating/copies/versions.h"
#include "coherence/store/lease_queue.h"

namespace musubi::coherence::migrating {

class Leases {
 public:
  Leases(Ground& ground, Versions& versions)
      : ground_(ground), versions_(versions), queue_(ground.space.blocks_max()), to_close_(ground.space) {}

  void watch(HeldBlock& b);
  // If the home is here: its version is held to be valid until Times::acquired() at least. Result: whether
  // the home is here.
  Task<bool> redate_at_home(HeldBlock& b);
  // The copy here must not be read any more: closes the block; at a barrier, together with other blocks.
  // REQUIRES: the block is valid and not pinned.
  void end_copy(HeldBlock& b);

  // Takes one block whose lease may end before `time` out of the watched ones. Result: whether there was one.
  bool pop_before(LogicalTime time, BlockId* id) { return queue_.pop_before(time, id); }
  // Does the rest of end_copy() at the end of the barrier.
  bool some_to_close() const { return !to_close_.empty(); }
  void close_all();

 private:
  Ground& ground_;
  Versions& versions_;
  LeaseQueue queue_;
  RunBuilder to_close_;
};

}  // namespace musubi::coherence::migrating
