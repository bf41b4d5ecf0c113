// Which ranks are near: each maps the memory of the others (Capabilities::local_pointer).
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::fabric {

// Whether this rank is near all others. All ranks of a job find the same, since nearness divides them into
// groups. The fabric has been opened.
inline bool all_are_near(const Fabric& fabric) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    if (Rank{rank} != fabric.self() && !fabric.capabilities(Rank{rank}).local_pointer) return false;
  }
  return true;
}

}  // namespace musubi::fabric
