// How a rank joins the queue of a lock, as one call at the lock's initial home. If the rank before it is that
// home itself, the lock is taken in the same trip, or its home knows who comes next.
#pragma once

#include <cstdint>

#include "fabric/calls.h"

namespace musubi::remote_lock {

inline constexpr fabric::ProcedureId join_procedure{8};

struct JoinRequest {
  std::uint64_t owner, tail;  // offsets of the lock's words
  std::uint8_t region;
  std::uint8_t reserved[7];
};

// The verdicts. The result is the tail word as it was.
namespace joining {
inline constexpr fabric::Verdict behind_other = 1;  // the rank before is another one: follow it
inline constexpr fabric::Verdict waits = 2;         // the initial home has the lock, and will hand it over
inline constexpr fabric::Verdict taken = 3;         // it was free there
inline constexpr fabric::Verdict tried = 4;         // somebody tries it there: follow the initial home
inline constexpr fabric::Verdict kept = 5;          // the initial home keeps it, and must be asked for it
}  // namespace joining

// A fabric::Procedure; `data`: Hooks.
fabric::Verdict join_at_initial_home(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::remote_lock
