// An atomic operation of the program at the home of its block, as one call: on the words that the home's
// program sees, with no block compared and none moved (docs/decisions/atomics.md).
#pragma once

#include <cstdint>

#include "base/atomic_operation.h"
#include "coherence/migrating/for_others/home_section.h"
#include "fabric/calls.h"

namespace musubi::coherence::migrating {

struct OperationRequest {
  std::uint64_t block;
  std::uint64_t offset;  // of the block in the regions of bytes
  std::uint64_t operand[2];
  std::uint64_t compare[2];
  std::uint64_t witness;       // Modification::witness
  std::uint32_t initial_home;  // of the block
  std::uint32_t place;         // in the block
  AtomicOperation::Kind kind;
  std::uint8_t bytes;
  std::uint8_t in_order;        // no thread of the home may see it before an acquire
  std::uint8_t orders_nothing;  // threads there may see it at any time
  std::uint8_t reserved[4];
};

struct OperationResult {
  std::uint64_t old[2];   // the value found by the operation
  Version version;        // that has the new bytes
  std::uint32_t home;     // where the links lead, if the home has moved on
  std::uint8_t changed;   // whether there are new bytes
  std::uint8_t is_named;  // whether `version` is new: all ranks must hear of it
  std::uint8_t is_live;   // whether the home has no public copy of it
  std::uint8_t reserved;
};

// A fabric::Procedure; `data`: a HomeSide. The verdicts: changes_at_home.
fabric::Verdict operate_at_home(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
