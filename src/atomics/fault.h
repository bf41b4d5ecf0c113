// The safety net: atomics that nobody patched (shared libraries, generated code) and that ran into a
// protected page.
#pragma once

#include <ucontext.h>

#include "atomics/ranges.h"
#include "atomics/sink.h"

namespace musubi::atomics {

// For handlers of faults. If the instruction at the interrupted point is an indivisible read-modify-write of
// an address in `ranges`, carries it out through `sink` (in the handler's context), steps behind it, and
// returns true: return from the handler then. False: nothing was changed. Signal-safe as far as the sink is.
// About 2 ns when it is another instruction.
bool emulate_at_fault(ucontext_t* context, const SharedRanges& ranges, AtomicSink& sink) noexcept;

}  // namespace musubi::atomics
