// A call that returns the notices of a rank's signature that the caller does not have. A program that only
// hands locks over never empties its signature, so that most of it is known at each hand-over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/core/signature.h"
#include "fabric/calls.h"
#include "hooks/hooks.h"

namespace musubi::sync {

// Location of the signatures in the control regions.
struct SignaturePlace {
  std::uint64_t offset;
  std::size_t notices_max;
  Hooks hooks;
};

struct SinceRequest {
  std::uint64_t stamp;  // SignatureBoard::stamp of the caller's last acquire from this rank; 0: none
};

// The verdicts. The result is the head of the board, followed, if `complete`, by the notices added after the
// stamp.
namespace since {
inline constexpr fabric::Verdict complete = 1;
inline constexpr fabric::Verdict too_many = 2;  // they exceed the result: get the whole signature
inline constexpr fabric::Verdict changing = 3;  // ask again
}  // namespace since

inline constexpr std::size_t since_notices_max =
    (fabric::call_result_bytes_max - sizeof(coherence::SignatureBoard)) / sizeof(coherence::Notice);

// A fabric::Procedure; `data`: a SignaturePlace.
fabric::Verdict signature_since(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::sync
