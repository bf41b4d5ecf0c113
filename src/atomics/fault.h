// The safety net: atomics that were not patched (shared libraries, generated code) and touched a protected
// page.
#pragma once

#include <ucontext.h>

#include "atomics/ranges.h"
#include "atomics/sink.h"

namespace musubi::atomics {

// For fault handlers. If the interrupted instruction is an indivisible read-modify-write of an address in
// `ranges`, carries it out through `sink` (in the handler's context), steps over it and returns true: the
// handler must then return. False: nothing was changed. As signal-safe as the sink. Takes about 2 ns for any
// other instruction.
bool emulate_at_fault(ucontext_t* context, const SharedRanges& ranges, AtomicSink& sink) noexcept;

}  // namespace musubi::atomics
