// Rules of faults: the steps that a touch of a closed page needs (coherence.md section 4).
#pragma once

#include <cstdint>

#include "coherence/core/entry.h"
#include "coherence/rules/states.h"
#include "vm/vm.h"

namespace musubi::coherence::rules {

// The holds that stop faults at the moment (docs/decisions/order.md, docs/decisions/background.md).
struct Holds {
  bool writes;            // no block may be opened for writing
  std::uint8_t openings;  // not 0: the number of the hold during which no closed block may be opened
};

enum class FaultStep : std::uint8_t {
  none,         // another thread of the rank was faster
  waits,        // until the hold has ended
  looks_waits,  // the same; whether its word has changed counts
  opens,        // the bytes are here
  fetches,
};
constexpr FaultStep fault_step(const Entry& e, vm::Access wanted, Holds holds) {
  if (e.copy.pinned || e.copy.state == State::writable) return FaultStep::none;
  if (wanted == vm::Access::write && holds.writes) return FaultStep::waits;
  if (is_valid(e)) return wanted == vm::Access::read ? FaultStep::none : FaultStep::opens;
  if (holds.openings == 0) return FaultStep::fetches;
  // A thread that waits for a word reads it again and again: it could read the block until the hold began.
  const bool comes_back = e.habits.ended_in_hold == holds.openings && wanted == vm::Access::read;
  return comes_back ? FaultStep::looks_waits : FaultStep::waits;
}

// This rank has seen nothing of the block so far, as far as the entry tells.
constexpr bool looks_untouched(const Entry& e) {
  return e.copy.state == State::invalid_clean && e.held.write_ts == LogicalTime{} &&
         e.known.newest.write_ts == LogicalTime{} && !e.copy.bytes_lost;
}

// While order is kept, bytes may come and stay closed: whether some have come, and whether they may still be
// held. A block that has rested at its home may be held there alone: its next home may change it and announce
// nothing.
constexpr bool has_arrived(const Entry& e) {
  return e.came_in != 0 && !e.copy.bytes_lost && !e.copy.rested;
}
constexpr bool may_be_opened(const Entry& e, LogicalTime acquired) {
  return e.held.read_ts >= later(acquired, e.known.newest.write_ts);
}

// Whether a block that was not missed itself is opened with the one before it: because a stream leads there,
// or the block was used the last time. A block that came along in vain is left to fault by itself.
constexpr bool comes_along(const Entry& e, vm::Access wanted, bool in_stream, bool is_worth_fetching_ahead) {
  if (e.copy.pinned || e.copy.state == State::writable || e.copy.state == State::invalid_dirty) return false;
  if (wanted == vm::Access::write)
    return e.habits.last_opening == Opening::changed ||
           (e.habits.last_opening == Opening::unknown && in_stream);
  if (e.copy.state != State::invalid_clean) return false;
  return e.habits.was_invalidated ? is_worth_fetching_ahead : in_stream;
}

}  // namespace musubi::coherence::rules
