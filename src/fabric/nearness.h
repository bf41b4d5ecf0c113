// Which ranks are near: each maps the other's memory (Capabilities::local_pointer).
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::fabric {

// Whether this rank is near all other ranks. The same result at all ranks of a job, since nearness divides
// them into groups. REQUIRES: the fabric is open.
inline bool all_are_near(const Fabric& fabric) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    if (Rank{rank} != fabric.self() && !fabric.capabilities(Rank{rank}).local_pointer) return false;
  }
  return true;
}

}  // namespace musubi::fabric
