// What comes with the bytes of a block.
#pragma once

#include "base/ids.h"
#include "coherence/core/store_evidence.h"

namespace musubi::coherence::migrating {

// A version of a block as its home describes it.
struct Version {
  LogicalTime write_ts;
  LogicalTime read_ts;
};

// From whom bytes come, and what he knows of how the block is written.
struct Giver {
  Rank rank;
  StoreEvidence stores;
};

}  // namespace musubi::coherence::migrating
