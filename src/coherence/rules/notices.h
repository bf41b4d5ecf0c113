// Rules of notices: which versions they announce, and which copies they end (coherence.md section 5).
#pragma once

#include <cstdint>

#include "base/check.h"
#include "coherence/core/entry.h"
#include "coherence/core/notice.h"
#include "coherence/core/parameters.h"
#include "coherence/rules/states.h"

namespace musubi::coherence::rules {

// The newest notice of a block is kept, if it names a newer version than the one here.
constexpr void hear(Entry& e, const Notice& notice) {
  MUSUBI_CHECK(notice.write_ts != LogicalTime{});
  if (notice.write_ts <= e.held.write_ts || notice.write_ts <= e.known.newest.write_ts) return;
  e.known.newest = {notice.write_ts, notice.read_ts};
  e.known.writer_number = notice.writer.value & INT32_MAX;
  e.known.live = notice.live;
}

// Whether the copy here may not be read any more once the notice's version exists.
constexpr bool ends_copy(const Entry& e, const Notice& notice, const Parameters& parameters) {
  const std::uint64_t tolerance = parameters.hooks.injected(InjectedBug::less_for_less_or_equal) ? 1 : 0;
  return is_valid(e) && e.held.read_ts + tolerance < notice.write_ts;
}

// Whether the newest notice names a version that may be held at `acquired`, and its writer, another rank, has
// a public copy of it.
constexpr bool names_a_copy(const Entry& e, LogicalTime acquired, Rank self) {
  return e.known.newest.write_ts > e.held.write_ts && e.known.newest.read_ts > e.known.newest.write_ts &&
         e.known.newest.read_ts >= acquired && !e.known.live && e.known.writer() != self;
}

// Whether the block may be fetched before it is missed. Now and then it is left to fault, to learn whether it
// is still wanted.
constexpr bool is_worth_fetching_ahead(const Entry& e, const Parameters& parameters) {
  return e.habits.wanted && e.habits.fetches_ahead < parameters.fetches_ahead_max;
}

}  // namespace musubi::coherence::rules
