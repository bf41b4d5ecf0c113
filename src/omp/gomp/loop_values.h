// Conversion between the loop variables of the interface (long, or unsigned long long with a direction) and
// positions.
#pragma once

#include "omp/iteration_space.h"
#include "omp/thread.h"
#include "omp/worksharing.h"

namespace musubi::omp::gomp {

// The values of the thread's current chunk.
template <class Value>
void store_chunk(const Loop& loop, Value* first, Value* end) {
  const IterationSpace& space = loop.specification.space;
  *first = static_cast<Value>(space.value_at(loop.chunk.first));
  *end = static_cast<Value>(space.bound_at(loop.chunk.last));
}

template <class Value>
bool next(Value* first, Value* end) {
  ImplicitTask& task = implicit_task();
  if (!loop_next(task)) return false;
  store_chunk(task.loop, first, end);
  return true;
}

template <class Value>
bool start(const LoopSpecification& specification, Value* first, Value* end) {
  loop_begin(implicit_task(), specification);
  return next(first, end);
}

inline LoopSpecification specify(const IterationSpace& space, Schedule schedule, std::uint64_t chunk,
                                 bool ordered) {
  return {space, schedule, chunk, ordered, false};
}
// Sections are a dynamic loop over their numbers, from 1.
inline LoopSpecification specify_sections(unsigned count) {
  return {IterationSpace::of(1, long{count} + 1, 1), Schedule::dynamic, 1, false, true};
}
inline LoopSpecification specify_runtime(const IterationSpace& space, bool ordered) {
  LoopSpecification specification = specify(space, Schedule::static_chunks, 0, ordered);
  apply_run_schedule(implicit_task(), specification);
  return specification;
}

// The schedule argument of GOMP_loop_start and related functions (enum gomp_schedule_type of libgomp.h); bit
// 31 means monotonic, as all our schedules are.
inline LoopSpecification specify_coded(const IterationSpace& space, long code, std::uint64_t chunk,
                                       bool ordered) {
  switch (code & 0x7fffffff) {
    case 0:
      return specify_runtime(space, ordered);
    case 2:
      return specify(space, Schedule::dynamic, chunk, ordered);
    case 3:
      return specify(space, Schedule::guided, chunk, ordered);
    default:
      return specify(space, Schedule::static_chunks, chunk, ordered);
  }
}

}  // namespace musubi::omp::gomp
