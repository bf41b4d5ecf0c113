// A rank takes over a block without its bytes, all of which its program is about to overwrite.
#pragma once

#include <cstdint>

#include "coherence/migrating/for_others/reads.h"
#include "fabric/calls.h"

namespace musubi::coherence::migrating {

struct OverwriteRequest {
  std::uint64_t block;
  std::uint64_t write_ts;  // of the version there
};

inline constexpr fabric::Verdict twin_is_made = 1;

// A fabric::Procedure; `data`: a HomeSide. The caller has the lock of the block, of which this rank was the
// home, without a public copy: the bytes here become the twin for the writes of this rank, as they are. So
// the next release here finds no writes but later ones.
fabric::Verdict make_twin_for_overwriter(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
