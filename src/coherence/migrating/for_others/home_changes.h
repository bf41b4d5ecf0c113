// The changes of a rank to a block whose home is elsewhere, merged there by one call: the home stays where it
// is (docs/decisions/many_writers.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/core/version.h"
#include "coherence/migrating/for_others/changed_runs.h"
#include "coherence/migrating/for_others/home_section.h"
#include "fabric/calls.h"

namespace musubi::coherence::migrating {

// The arguments: this, and after it the runs, in the order of their places.
struct ChangesRequest {
  std::uint64_t block;
  std::uint64_t write_ts;      // of the version that the caller has
  std::uint64_t acquired;      // until then at least it wants to hold the new one
  std::uint32_t initial_home;  // of the block
  Twin twin;
  std::uint8_t reserved[3];
};

struct ChangesResult {
  Version found;    // the newest before
  Version version;  // that has the changes
  std::uint64_t atomic_words;
  std::uint32_t home;  // where the links lead, if the home has moved on
  std::uint32_t reserved;
};

// A fabric::Procedure; `data`: a HomeSide. The verdicts: changes_at_home.
fabric::Verdict merge_changes_at_home(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
