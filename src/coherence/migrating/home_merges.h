// Many writers of one block: a rank whose home is elsewhere, and near, merges its changes into the bytes of
// the home, which stays where it is; if the home is far it merges what this rank sends
// (docs/decisions/many_writers.md).
#pragma once

#include <array>
#include <cstdint>

#include "base/task.h"
#include "coherence/core/block_words.h"
#include "coherence/migrating/arrivals.h"
#include "coherence/migrating/far_merges.h"
#include "coherence/migrating/leases.h"
#include "coherence/migrating/twins.h"
#include "coherence/migrating/versions.h"

namespace musubi::coherence::migrating {

class HomeMerges {
 public:
  HomeMerges(Ground& ground, Versions& versions, Twins& twins, Arrivals& arrivals, Leases& leases,
             FarMerges& far)
      : ground_(ground),
        versions_(versions),
        twins_(twins),
        arrivals_(arrivals),
        leases_(leases),
        far_(far) {}

  // A release of a block whose home is elsewhere, under its gate. Result: whether that is done; otherwise
  // this rank must become the home, and the twin tells what is left to release.
  Task<bool> release(Block& b);

 private:
  // This rank at the home of a block, with the block's lock.
  struct Stay {
    Rank home;
    remote_lock::QueueLock::Visit lock;
    BlockWords words;
    std::array<std::uint64_t, 3> order;  // VisitLayout::order(), held_back(), quiescent()
    std::uint64_t visitors_before;       // not needed
  };
  bool may_visit(const Block& b) const;
  // Result: whether this rank has the lock there.
  Task<bool> enter(const Block& b, Stay& stay);
  bool may_merge(const Block& b, const Stay& stay) const;
  Sharing sharing_there(const Block& b, const Stay& stay) const;
  Task<> leave(const Block& b, Stay& stay);
  Task<> leave_with_version(const Block& b, Stay& stay, Version version);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  Arrivals& arrivals_;
  Leases& leases_;
  FarMerges& far_;
};

}  // namespace musubi::coherence::migrating
