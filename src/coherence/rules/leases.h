// Rules of leases: until when a version may be held (Tardis 2.0; coherence.md sections 3 and 4).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
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
// would be too long: two blocks that are written alternately would date each other's versions ever further
// ahead.
constexpr LogicalTime wanted_lease(Asked asked, LogicalTime write_ts, LogicalTime acquired,
                                   std::uint64_t shortest) {
  MUSUBI_CHECK(shortest != 0);
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

// Until when the home holds its own version when `acquired` has passed the lease. The extension makes the
// next version later, so it is short, except for an old version, which would have to be extended again and
// again.
constexpr LogicalTime lease_of_home(Version home, LogicalTime acquired, std::uint64_t shortest) {
  MUSUBI_CHECK(acquired >= home.write_ts);
  const std::uint64_t life = acquired.value - home.write_ts.value;
  return acquired + std::min(life / 16, shortest * shortest_leases_max);
}

// The new date of the home's own version when `acquired` has passed its lease.
enum class Redating : std::uint8_t {
  none,          // it has not
  named_anew,    // no rank holds the version: it gets a new date, and still no rank holds it
  leased_longer  // a rank may
};
constexpr Redating redating_of(Version home, LogicalTime acquired) {
  if (home.read_ts >= acquired) return Redating::none;
  return is_unread(home) && home.write_ts != LogicalTime{} ? Redating::named_anew : Redating::leased_longer;
}

}  // namespace musubi::coherence::rules
