// An active parallel region, in the form that is sent to the ranks.
#pragma once

#include <cstdint>

#include "base/store_bound.h"
#include "omp/icv.h"
#include "omp/iteration_space.h"
#include "omp/placement.h"
#include "os/thread_state.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

struct TaskReductions;

using Function = void (*)(void*);

// The attributes that new threads of a region inherit from the thread that opens it. In shared memory.
struct InheritedState {
  os::ThreadState state;
  os::ThreadStateParts parts = 0;  // ever different from those at the start
};

// Data that do not fit into the announcement of a region. In memory that all ranks can read.
struct RegionDetails {
  std::uintptr_t code = 0;
  const LoopSpecification* loop = nullptr;
  Icv icv;
  StoreBound stores;
  const InheritedState* inherited = nullptr;  // null: new threads are as the rank's were at the start
  const void* call_site = nullptr;            // of the construct, if a tool listens
  TaskReductions* reductions = nullptr;
};

// Data for every member. Plain data.
struct Region {
  Function function = nullptr;
  void* data = nullptr;
  // The program's code if `function` only passes on to it; else 0.
  std::uintptr_t code = 0;
  std::uint32_t size = 1;
  std::uint32_t level = 1;  // of the region
  Icv icv;
  std::uint32_t loops = 0;  // constructs that the job has met so far
  std::uint32_t singles = 0;
  os::FloatingPointModes modes;  // of the thread that opens it; new threads begin with them
  Spacing spacing = Spacing::close;
  ProcBind bind = ProcBind::no;
  // The loop that a combined construct starts; on the master's stack, which is shared.
  const LoopSpecification* loop = nullptr;
  // Bound of its code's stores: no store is narrower, except those that the details list.
  std::uint32_t store_bytes = 1;
  const InheritedState* inherited = nullptr;
  TaskReductions* reductions = nullptr;  // over tasks: the tasks of each member are a group that has them
  const RegionDetails* details = nullptr;
  const void* call_site = nullptr;  // of the construct, if a tool listens; in the details

  // The address of the program's code, for reports.
  std::uintptr_t program_code() const {
    return code != 0 ? code : reinterpret_cast<std::uintptr_t>(function);
  }
  StoreBound stores() const {
    if (details != nullptr) return details->stores;
    StoreBound bound;
    bound.bytes = store_bytes;
    return bound;
  }
};

// Each barrier of the runtime carries its kind, so that ranks without members take part in all of them, and
// threads at different barriers are detected.
enum class BarrierKind : std::uint8_t { fork = 1, inside_region, join, exit, pause };

// `initial`: the values of the environment, the same on every rank. Control variables that differ from it and
// do not fit into the payload, and further data on the stores, go to `details`; the payload then has their
// address.
runtime::BarrierPayload encode_fork(const Region& region, const StoreBound& stores, const Icv& initial,
                                    RegionDetails& details);
Region decode_fork(const runtime::BarrierPayload& payload, const Icv& initial);
// Whether the payload of a fork refers to details.
bool has_details(const runtime::BarrierPayload& payload);
runtime::BarrierPayload encode(BarrierKind kind, std::int32_t status = 0);
BarrierKind kind_of(const runtime::BarrierPayload& payload);
std::int32_t status_of(const runtime::BarrierPayload& payload);

}  // namespace musubi::omp
