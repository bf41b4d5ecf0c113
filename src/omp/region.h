// An active parallel region as it travels to the ranks.
#pragma once

#include <cstdint>

#include "base/store_bound.h"
#include "omp/icv.h"
#include "omp/iteration_space.h"
#include "os/floating_point.h"
#include "os/thread_state.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

using Function = void (*)(void*);

// What threads that are new in a region have from the one that opens it. In shared memory.
struct InheritedState {
  os::ThreadState state;
  os::ThreadStateParts parts = 0;  // that were ever others than at the start
};

// What the announcement of a region has no room for. Lies where all ranks can read it.
struct RegionDetails {
  const LoopSpecification* loop = nullptr;
  Icv icv;
  StoreBound stores;
  const InheritedState* inherited = nullptr;  // null: new threads are as the rank's were at the start
};

// What every member needs to know. Plain data.
struct Region {
  Function function = nullptr;
  void* data = nullptr;
  std::uint32_t size = 1;
  std::uint32_t level = 1;  // of the region; its active level is 1, since nested regions are serialised
  Icv icv;
  std::uint32_t loops = 0;  // numbers of the constructs met by the job so far
  std::uint32_t singles = 0;
  os::FloatingPointModes modes;  // of the thread that opens it; new threads begin with them
  bool grouped = false;          // the tasks of each member are a group: the region has reductions over tasks
  // The loop that a combined construct starts; lies on the master's stack, which is shared.
  const LoopSpecification* loop = nullptr;
  // What is known of the stores of its code: no store is narrower, but for those that the details tell of.
  std::uint32_t store_bytes = 1;
  const InheritedState* inherited = nullptr;
  const RegionDetails* details = nullptr;

  StoreBound stores() const {
    if (details != nullptr) return details->stores;
    StoreBound bound;
    bound.bytes = store_bytes;
    return bound;
  }
};

// Each barrier of the runtime says what it was, so that ranks without members take part in all of them, and
// threads that disagree about what they meet are noticed.
enum class BarrierKind : std::uint8_t { fork = 1, inside_region, join, exit };

// `initial`: what the environment says, the same on every rank. Where the control variables differ from it in
// what the payload does not hold, or there is more to say of the stores, they go to `details`, and the
// payload tells where that is.
runtime::BarrierPayload encode_fork(const Region& region, const StoreBound& stores, const Icv& initial,
                                    RegionDetails& details);
Region decode_fork(const runtime::BarrierPayload& payload, const Icv& initial);
// Whether the payload of a fork refers to details.
bool has_details(const runtime::BarrierPayload& payload);
runtime::BarrierPayload encode(BarrierKind kind, std::int32_t status = 0);
BarrierKind kind_of(const runtime::BarrierPayload& payload);
std::int32_t status_of(const runtime::BarrierPayload& payload);

}  // namespace musubi::omp
