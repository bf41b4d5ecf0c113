// A version of a block.
#pragma once

#include "base/ids.h"

namespace musubi::coherence::migrating {

// A version of a block as its home describes it.
struct Version {
  LogicalTime write_ts;
  LogicalTime read_ts;
};

}  // namespace musubi::coherence::migrating
