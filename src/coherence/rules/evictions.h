// Rules of evictions: which copies may be thrown out when memory gets short
// (docs/decisions/memory.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "coherence/core/entry.h"
#include "coherence/core/version.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/states.h"

namespace musubi::coherence::rules {

// The fate of a copy whose home is elsewhere.
enum class Fate : std::uint8_t {
  stays,     // it holds changes, or is always open
  is_tried,  // closed, with its bytes: a touch takes it off trial without a fetch
  goes,
};
constexpr Fate fate_of(const Entry& e, bool was_on_trial) {
  const bool is_twin_of_zeros =
      e.held.write_ts == LogicalTime{} && e.queues.copies;  // a copy that was given back may hold anything
  if (e.copy.pinned || is_dirty(e) || is_twin_of_zeros) return Fate::stays;
  if (is_valid(e)) return was_on_trial ? Fate::stays : Fate::is_tried;
  return Fate::goes;
}

// At most one block in nine is on trial: long enough to be missed, few enough that hot ones are not closed
// again and again.
inline constexpr std::size_t trial_share = 8;
constexpr bool tries_more(std::size_t fresh, std::size_t on_trial) {
  return on_trial == 0 || on_trial * trial_share < fresh;
}

// How far a rank looks for the home whose word tells that. Otherwise the copy stays for now.
inline constexpr unsigned links_to_taker_max = 4;

// This rank was home of the version `named_here`, and the home moved on. A rank that takes a version reads it
// here, and has done so once a later version is known. Otherwise only that rank can tell.
constexpr bool is_taken_for_sure(const Entry& e, LogicalTime named_here) {
  return named_here == LogicalTime{} || later(e.held.write_ts, e.known.newest.write_ts) > named_here;
}

// The name that a new home gives to the version of a home that has closed the block. A version that other
// ranks hold keeps its name. A version that no rank holds gets a new name, which need not be announced: its
// bytes may change under that name, and the old home must not mistake its own bytes for them.
constexpr Version name_moved_version(Version version) {
  MUSUBI_CHECK(version.read_ts >= version.write_ts);
  return is_unread(version) ? Version{version.write_ts + 1, version.write_ts + 1} : version;
}

}  // namespace musubi::coherence::rules
