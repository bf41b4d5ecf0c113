// Rules of permits: on an unprotected segment a thread may have found a block open, and make its access after
// the block was closed (coherence.md section 11). On pages such an access faults.
//
// A late load needs no rule where the bytes that it may read do not change between the check and the load.
// They do where a block is opened for stores alone, and loses its bytes.
#pragma once

#include "coherence/core/parameters.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/states.h"
#include "vm/space.h"

namespace musubi::coherence::rules {

// Whether threads of this rank may still store to a block that was writable here before this release.
constexpr bool has_late_stores(const vm::Segment& segment, bool quiescent) {
  return segment.unprotected && !quiescent;
}

// Whether a release may take the permission to write: at its home, the next store must be released, too.
constexpr bool may_downgrade(bool late_stores, const Parameters& parameters) {
  return !late_stores || parameters.hooks.injected(InjectedBug::downgraded_beside_thread);
}

// A release has published the changes of a block elsewhere. With late stores it stays dirty: so the next
// release looks at it, and bytes that arrive are merged.
constexpr State when_released(State state, bool late_stores, const Parameters& parameters) {
  const bool stays = late_stores && !parameters.hooks.injected(InjectedBug::closed_clean_beside_thread);
  return stays ? state : when_released(state);
}

// Whether the block may lose its bytes, and be open for stores alone. The copy of a clean block is known to
// have no late stores.
constexpr bool may_open_for_stores(const vm::Segment& segment, const Entry& e, const Parameters& parameters) {
  const bool late_loads = e.copy.late_loads && !parameters.hooks.injected(InjectedBug::stores_beside_load);
  return segment.home_only && may_open_without_bytes(e) && !late_loads;
}

}  // namespace musubi::coherence::rules
