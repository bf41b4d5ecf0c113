// Rules of naming: which times a release gives to a new version, and whether anybody must be told
// (coherence.md section 3).
#pragma once

#include <cstdint>

#include "base/check.h"
#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/core/version.h"
#include "coherence/rules/leases.h"

namespace musubi::coherence::rules {

struct Naming {
  Version version;
  bool is_silent;                // no rank holds the last version: no notice, and its times may stay
  std::uint8_t leased_releases;  // Entry, from now on
};

// `home`: the version before. `may_be_silent`: this rank was home all the time.
constexpr Naming name_version(const Entry& e, Version home, bool may_be_silent,
                              const Parameters& parameters) {
  MUSUBI_CHECK(home.read_ts >= home.write_ts);
  const bool has_readers = !is_unread(home);
  const bool is_silent =
      may_be_silent && (!has_readers || parameters.hooks.injected(InjectedBug::silent_after_lease));
  Naming naming{home, is_silent, e.habits.leased_releases};
  // Timestamp 0 means zeros for good.
  if (!is_silent || home.write_ts == LogicalTime{}) {
    naming.version.write_ts = later(home.write_ts, home.read_ts) + 1;
    naming.version.read_ts = naming.version.write_ts;
  }
  // The last lease may be the one that this rank took to write here.
  const bool only_we_read = !may_be_silent && home.read_ts == e.held.read_ts;
  if (is_silent || !has_readers || only_we_read) return naming;
  // Now and then no lease in advance: a rank that still reads must come and take one, and so shows that it
  // reads.
  if (++naming.leased_releases >= parameters.lease_probe_releases) {
    naming.leased_releases = 0;
  } else {
    naming.version.read_ts = naming.version.write_ts + shortest_lease(parameters);
  }
  return naming;
}

// The name that a rank gives to its bytes when it has taken the lock and brought the newest version.
enum class NameUnderLock : std::uint8_t {
  as_it_was,       // it was home before, and nothing has changed
  of_home_before,  // nothing has changed: the same version is here, too
  anew,
};
// `home_was_unpublished`: copies of such a version differ by when they were taken.
constexpr NameUnderLock name_under_lock(bool changes, bool was_home, bool home_was_unpublished) {
  if (changes || (!was_home && home_was_unpublished)) return NameUnderLock::anew;
  return was_home ? NameUnderLock::as_it_was : NameUnderLock::of_home_before;
}

// The new home keeps the version of the home before as it is. Copies of an unpublished version differ by the
// time at which they were taken: the bytes here then need a name of their own.
constexpr Version name_taken_version(Version home, bool is_unpublished, LogicalTime acquired,
                                     const Parameters& parameters) {
  MUSUBI_CHECK(home.read_ts >= home.write_ts);
  Version taken = home;
  if (is_unpublished && !parameters.hooks.injected(InjectedBug::taken_copy_not_renamed))
    taken.write_ts = later(home.write_ts, home.read_ts) + 1;
  taken.read_ts = lease_beside_home({taken.write_ts, home.read_ts}, acquired, parameters);
  return taken;
}

}  // namespace musubi::coherence::rules
