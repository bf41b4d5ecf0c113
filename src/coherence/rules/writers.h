// Rules of many writers: which rank publishes changes where the home stands, and which becomes the home
// (docs/decisions/many_writers.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/core/version.h"
#include "coherence/rules/leases.h"

namespace musubi::coherence::rules {

// So many versions in a row, with no other writer between them, and the home comes to the writer.
inline constexpr std::uint8_t releases_alone_max = 4;

// How often a visitor may find the lock taken, and the home moved on, before it joins the lock's queue.
inline constexpr unsigned visit_looks_max = 40, visit_links_max = 3;

// The part of a version's time that an entry remembers: enough to tell it from the versions that follow soon.
// 0: none.
constexpr std::uint32_t name_of_version(LogicalTime write_ts) {
  return static_cast<std::uint32_t>(write_ts.value);
}

// Entry::named of a home that has moved here with a version that no rank holds: another rank has announced
// it.
inline constexpr std::uint32_t named_elsewhere = UINT32_MAX;

// Whether this rank has announced the version at its home here, or need not: there was no version before.
constexpr bool has_told(const Entry& e, Version at_home) {
  return e.named == 0 || e.named == name_of_version(at_home.write_ts);
}

// The first release of a block by a rank mostly makes it the home: most blocks have one writer.
constexpr bool is_first_release(const Entry& e) {
  return e.named == 0;
}

// But not if it changes little of a block: such words are mostly neighbours of another rank's words. Result:
// the bytes of such changes, as they are sent.
constexpr std::size_t first_changes_bytes_max(std::size_t block_bytes, const Parameters& parameters) {
  MUSUBI_CHECK(parameters.first_changes_share != 0);
  return block_bytes / parameters.first_changes_share;
}

// Whether a writer of so many bytes takes the home over: then the other writers have less to send. At most
// one writer of a block is so in an interval.
constexpr bool changes_most(std::size_t bytes, std::size_t block_bytes) {
  return bytes > block_bytes / 2;
}

// Whether a release of a block whose home is elsewhere may leave the home there.
constexpr bool leaves_home_there(const Entry& e) {
  return e.habits.releases_alone < releases_alone_max;
}

// The new Habits::releases_alone when a release has found `newest` at the home.
constexpr std::uint8_t next_releases_alone(const Entry& e, LogicalTime newest) {
  if (name_of_version(newest) != e.named) return 0;
  return static_cast<std::uint8_t>(e.habits.releases_alone + 1);
}

// The name that a visitor gives to the version that it has made at the home. Both hold it, so it has a
// reader.
constexpr Version name_beside_home(Version home, LogicalTime acquired, const Parameters& parameters) {
  MUSUBI_CHECK(home.read_ts >= home.write_ts);
  Version named;
  named.write_ts = later(home.write_ts, home.read_ts) + 1;
  named.read_ts = named.write_ts;
  if (!parameters.hooks.injected(InjectedBug::visitor_without_lease))
    named.read_ts = lease_beside_home(named, acquired, parameters);
  return named;
}

}  // namespace musubi::coherence::rules
