// The workload of a recording: each rank touches the memory that a rank of the real program has touched, in
// that order, between the same synchronisations, and writes the same bytes with other values.
//
// Each write has a number of its own; readers check it. A read of a page does not tell which of its bytes the
// program has used: those are checked whose last write is ordered before the read. Two writes of a byte that
// nothing orders are a violation: the program, or the recording, has a race. Of the program's own time only
// faults and changes of protection are known.
//
// In the first iteration rank 0 works alone, at the beginning. The second one is the rest, up to the last
// barrier before which another rank has touched anything.
#pragma once

#include <memory>

#include "simulator/recording.h"
#include "simulator/workload.h"

namespace musubi::sim {

// A signal, its handler and the return; a call that protects pages (docs/decisions/faults.md).
constexpr std::uint64_t fault_ns = 2'450, protection_ns = 1'750;

// `recording` outlives it.
std::unique_ptr<Workload> recorded(const Recording& recording);

}  // namespace musubi::sim
