// Rules of leases: until when a version may be held (Tardis 2.0; coherence.md sections 3 and 4).
#pragma once

#include <algorithm>
#include <cstdint>

#include "coherence/core/parameters.h"
#include "coherence/core/version.h"

namespace musubi::coherence::rules {

// The next write moves the block's clock beyond all leases, and by them the clock of the job. Leases that are
// too long make those of other blocks end early. So no lease is longer than so many of the shortest one.
inline constexpr std::uint64_t shortest_leases_max = 1024;

constexpr std::uint64_t shortest_lease(const Parameters& parameters) {
  return std::max<std::uint64_t>(parameters.lease_ticks, 1);
}

// Whether a reader has the version for which it asks.
enum class Asked : std::uint8_t { first_time, again };

constexpr Asked asked_for(LogicalTime newest, LogicalTime here) {
  return newest == here ? Asked::again : Asked::first_time;
}

// Until when a reader asks to hold a version. The first time for the shortest lease, since another version
// may follow soon; a reader that comes again, for half as long as the version has lived. All of that time
// would be too long: two blocks that are written by turns would date each other's versions ever further
// ahead.
constexpr LogicalTime wanted_lease(Asked asked, LogicalTime write_ts, LogicalTime acquired,
                                   std::uint64_t shortest) {
  const LogicalTime begin = later(write_ts, acquired);
  if (asked == Asked::first_time || begin == write_ts) return begin + shortest;
  const std::uint64_t life = begin.value - write_ts.value;
  return begin + std::min((life - std::min(life, shortest)) / 2, shortest * shortest_leases_max);
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

// Until when the home holds its own version when `acquired` has passed the lease. What it adds makes the next
// version later, so it adds little, but to an old version that it would have to look at again and again.
constexpr LogicalTime lease_of_home(Version home, LogicalTime acquired, std::uint64_t shortest) {
  const std::uint64_t life = acquired.value - home.write_ts.value;
  return acquired + std::min(life / 16, shortest * shortest_leases_max);
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
