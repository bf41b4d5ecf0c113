// Blocks that the program overwrites whole: the rank becomes their home as at a first touch, and no bytes
// move (coherence.md section 4).
#pragma once

#include <cstdint>

#include "base/task.h"
#include "coherence/migrating/misses/faults.h"

namespace musubi::coherence::migrating {

// No caller holds a gate. Any thread.
class Overwrites {
 public:
  Overwrites(Ground& ground, const FaultGates& holds, Versions& versions, Leases& leases,
             Takeovers& takeovers, Fetches& fetches, Runs& runs)
      : ground_(ground),
        holds_(holds),
        versions_(versions),
        leases_(leases),
        takeovers_(takeovers),
        fetches_(fetches),
        runs_(runs) {}

  // As Protocol::overwrite(): opens those blocks that are closed here, without changes, and have their home
  // elsewhere. A run of them at a time, whose trips overlap.
  Task<> overwrite(vm::BlockRun blocks);

 private:
  bool may_open(const HeldBlock& b) const;
  void gather(const HeldBlock& leader, std::uint64_t end, Run& run);
  Task<> open(HeldBlock& leader, Run& run);
  Task<> take(HeldBlock& b, bool& is_ready);
  void name(HeldBlock& b, const BlockWords& before);

  Ground& ground_;
  const FaultGates& holds_;
  Versions& versions_;
  Leases& leases_;
  Takeovers& takeovers_;
  Fetches& fetches_;
  Runs& runs_;
};

}  // namespace musubi::coherence::migrating
