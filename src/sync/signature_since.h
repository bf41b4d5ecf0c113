// What a rank's signature has that the caller has not: as one call. A program that hands over locks alone
// never empties its signature, so most of it is known at each hand-over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/core/signature.h"
#include "fabric/calls.h"
#include "hooks/hooks.h"

namespace musubi::sync {

// Where the signatures lie in the control regions.
struct SignaturePlace {
  std::uint64_t offset;
  std::size_t notices_max;
  Hooks hooks;
};

struct SinceRequest {
  std::uint64_t stamp;  // SignatureBoard::stamp of what the caller has acquired from this rank; 0: nothing
};

// The verdicts. The result is the front of the board, and behind it, if `complete`, the notices that were
// added after the stamp.
namespace since {
inline constexpr fabric::Verdict complete = 1;
inline constexpr fabric::Verdict too_many = 2;  // they do not fit: get the whole signature
inline constexpr fabric::Verdict changing = 3;  // ask again
}  // namespace since

inline constexpr std::size_t since_notices_max =
    (fabric::call_result_bytes_max - sizeof(coherence::SignatureBoard)) / sizeof(coherence::Notice);

// A fabric::Procedure; `data`: a SignaturePlace.
fabric::Verdict signature_since(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::sync
