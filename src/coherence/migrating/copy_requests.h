// Asks for the public copy of a block: what a reader with a notice, or with a lease, does at the rank that
// has it. The bytes follow in the same batch.
#pragma once

#include <cstdint>

#include "coherence/migrating/given_lines.h"
#include "fabric/calls.h"

namespace musubi::coherence::migrating {

struct CopyRequest {
  std::uint64_t block;
  std::uint64_t wanted;   // write_ts of the version, or of an older one
  std::uint32_t links;    // how often the caller was sent on
  std::uint32_t insists;  // it is not to be sent on
  LinesWanted lines;
};

struct CopyResult {
  std::uint64_t version;       // BlockWords, before the bytes
  std::uint64_t atomic_words;  // BlockWords
  std::uint64_t relay;         // a rank
};

namespace copies {
inline constexpr fabric::Verdict here = 1;
inline constexpr fabric::Verdict relayed = 2;  // another reader is to be asked
inline constexpr fabric::Verdict coming = 3;   // it is on its way
inline constexpr fabric::Verdict not_here = 4;
inline constexpr fabric::Verdict in_lines = 5;  // what has changed follows the result
}  // namespace copies

// A fabric::Procedure; `data`: a HomeSide.
fabric::Verdict give_copy(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
