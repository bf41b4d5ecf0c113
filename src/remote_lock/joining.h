// A rank joins the queue of a lock by one call at the lock's initial home. If the predecessor is that home
// itself, the same round trip takes the lock or tells the home its successor.
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

// The verdicts. The call returns the tail word's old value.
namespace joining {
inline constexpr fabric::Verdict behind_other = 1;  // the predecessor is another rank: follow it
inline constexpr fabric::Verdict waits = 2;         // the initial home holds the lock and will hand it over
inline constexpr fabric::Verdict taken = 3;         // the lock was free at the initial home
inline constexpr fabric::Verdict tried = 4;         // a rank tries the lock there: follow the initial home
inline constexpr fabric::Verdict kept = 5;          // the initial home keeps the lock: ask for it
}  // namespace joining

// A fabric::Procedure; `data`: Hooks.
fabric::Verdict join_at_initial_home(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::remote_lock
