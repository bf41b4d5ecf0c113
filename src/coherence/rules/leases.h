// Rules of leases: until when a version may be held (Tardis 2.0; coherence.md sections 3 and 4).
#pragma once

#include <algorithm>
#include <cstdint>

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/core/version.h"

namespace musubi::coherence::rules {

// The next write moves the block's clock beyond all leases. Leases that are too long make those of other
// blocks end early.
inline constexpr std::uint8_t lease_doublings_max = 10;

constexpr std::uint64_t shortest_lease(const Parameters& parameters) {
  return std::max<std::uint64_t>(parameters.lease_ticks, 1);
}

// For how long a reader asks to hold a version, and until when. A version that is renewed again and again is
// asked for longer; a change begins anew.
constexpr std::uint64_t wanted_lease_ticks(const Entry& e, const Parameters& parameters) {
  return shortest_lease(parameters) << e.lease_doublings;
}
constexpr LogicalTime wanted_lease(const Entry& e, LogicalTime write_ts, LogicalTime acquired,
                                   const Parameters& parameters) {
  return later(write_ts, acquired) + wanted_lease_ticks(e, parameters);
}

// The new Entry::lease_doublings when a renewal has found nothing changed.
constexpr std::uint8_t next_doublings(const Entry& e) {
  return std::min<std::uint8_t>(lease_doublings_max, e.lease_doublings + 1);
}

// Whether the home's word allows it as it is: some rank holds the version, until then at least.
constexpr bool is_leased_until(Version home, LogicalTime time) {
  return home.read_ts > home.write_ts && home.read_ts >= time;
}

// No rank may hold the version: a reader must come and ask.
constexpr bool is_unread(Version home) {
  return home.read_ts == home.write_ts;
}

// The time until which a new home may hold the version of the home before, which holds it too: it has
// readers.
constexpr LogicalTime lease_beside_home(Version version, LogicalTime acquired, const Parameters& parameters) {
  return later(version.read_ts, later(version.write_ts, acquired) + shortest_lease(parameters));
}

// What the home does with its own version when `acquired` has passed its lease.
enum class Redating : std::uint8_t {
  none,          // it has not
  named_anew,    // nobody holds the version: it gets a new date, and stays one that nobody holds
  leased_longer  // somebody may
};
constexpr Redating redating_of(Version home, LogicalTime acquired) {
  if (home.read_ts >= acquired) return Redating::none;
  return is_unread(home) && home.write_ts != LogicalTime{} ? Redating::named_anew : Redating::leased_longer;
}

}  // namespace musubi::coherence::rules
