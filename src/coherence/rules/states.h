// Rules of states (figure 3 of paper TS): the meaning of a state, and the one that follows.
#pragma once

#include <cstdint>

#include "coherence/core/entry.h"
#include "vm/vm.h"

namespace musubi::coherence::rules {

// The program may read it: its pages are open.
constexpr bool is_valid(const Entry& e) {
  return e.copy.pinned || e.copy.state >= State::readable_clean;
}

// Private bytes and twin may differ, as far as the state tells.
constexpr bool is_dirty(const Entry& e) {
  return e.copy.pinned || e.copy.state == State::invalid_dirty || e.copy.state == State::readable_dirty ||
         e.copy.state == State::writable || e.copy.state == State::stores_only;
}

// The same, where a release of the present quiescence (0: none) may just have compared them.
constexpr bool may_differ_from_twin(const Entry& e, std::uint32_t quiescence) {
  if (e.copy.pinned || e.copy.state != State::writable || e.published.given_up) return is_dirty(e);
  return e.compared_in == 0 || e.compared_in != quiescence;
}

// No newer version than the one here is known of.
constexpr bool may_be_newest(const Entry& e) {
  return e.known.newest.write_ts <= e.held.write_ts && !e.copy.bytes_lost;
}

// Its copy must not be read any more. Changes of this rank stay, for the next miss or release.
constexpr State when_invalidated(State state, bool may_differ_from_twin) {
  const bool has_changes =
      state == State::readable_dirty || (state == State::writable && may_differ_from_twin);
  return has_changes ? State::invalid_dirty : State::invalid_clean;
}

constexpr State when_opened(State state, vm::Access wanted) {
  if (wanted == vm::Access::write) return State::writable;
  return state == State::invalid_dirty ? State::readable_dirty : State::readable_clean;
}

// A release has published its changes, or found none; writable blocks may stay so.
constexpr State when_released(State state) {
  switch (state) {
    case State::readable_dirty:
      return State::readable_clean;
    case State::invalid_dirty:
      return State::invalid_clean;
    default:
      return state;
  }
}

}  // namespace musubi::coherence::rules
