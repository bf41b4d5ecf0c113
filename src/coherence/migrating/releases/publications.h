// A block's newest version is made here, under its lock: the changes of this rank go on top of the version of
// the home before.
#pragma once

#include <cstdint>

#include "base/task.h"
#include "coherence/migrating/atomics/home_atomics.h"
#include "coherence/migrating/ownership/takeovers.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class Publications {
 public:
  Publications(Ground& ground, Versions& versions, Twins& twins, LineCopies& lines, Arrivals& arrivals,
               Takeovers& takeovers, HomeAtomics& home_atomics)
      : ground_(ground),
        versions_(versions),
        twins_(twins),
        lines_(lines),
        arrivals_(arrivals),
        takeovers_(takeovers),
        home_atomics_(home_atomics) {}

  // Waits for the lock. `modification` may be null.
  Task<> publish(HeldBlock& b, Modification* modification);

  // As Protocol::modify() and Protocol::adopt().
  Task<> modify(BlockId block, Modification& modification);
  void adopt(BlockId first, std::uint64_t count);

 private:
  bool apply(const HeldBlock& b, Modification& modification);
  void let_rest(HeldBlock& b, bool has_come);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  LineCopies& lines_;
  Arrivals& arrivals_;
  Takeovers& takeovers_;
  HomeAtomics& home_atomics_;
};

}  // namespace musubi::coherence::migrating
