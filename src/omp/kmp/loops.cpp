// Loops: shares of static schedules, chunks of the other ones, sections.
#include <algorithm>

#include "omp/cancellation.h"
#include "omp/entry.h"
#include "omp/events.h"
#include "omp/kmp/abi.h"
#include "omp/kmp/doacross.h"
#include "omp/kmp/static_shares.h"
#include "omp/team.h"
#include "omp/worksharing.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// Without the bits of modifiers, and as the merged variant.
std::int32_t plain(std::int32_t schedule) {
  schedule &= ~(schedules::monotonic | schedules::nonmonotonic);
  return schedule >= schedules::unmerged_first ? schedule - schedules::unmerged : schedule;
}

bool is_ordered(std::int32_t schedule) {
  return schedule >= schedules::ordered_first && schedule <= schedules::ordered_last;
}

std::uint64_t chunk_of(std::int64_t chunk) {
  return chunk > 0 ? static_cast<std::uint64_t>(chunk) : 0;
}

// A share of `threads`. The bounds of a loop without iterations stay.
template <class Value>
StaticShare take_share(std::int32_t schedule, Bounds<Value>& bounds, std::int64_t chunk,
                       std::uint32_t threads, std::uint32_t thread) {
  const std::uint64_t count = bounds.count();
  if (count == 0) return {};
  const StaticShare share = static_share_of(schedule, count, chunk_of(chunk), threads, thread);
  bounds = bounds.part(share.chunk);
  return share;
}

template <class Value, class Step>
void static_init(std::int32_t schedule, std::int32_t* last, Value* lower, Value* upper, Step* stride,
                 Step step, Step chunk) {
  const ImplicitTask& task = implicit_task();
  Bounds<Value> bounds{*lower, *upper, step};
  schedule = plain(schedule);
  const bool of_league = schedule == schedules::distribute_chunked || schedule == schedules::distribute_whole;
  if (!of_league) {
    const bool by_chunks = schedule == schedules::static_chunked;
    const bool in_nest =
        begin_announced_doacross(bounds.space(), Schedule::static_chunks,
                                 by_chunks ? std::max<std::uint64_t>(chunk_of(chunk), 1) : 0, true);
    if (in_nest && by_chunks) chunk = static_cast<Step>(task.loop.specification.chunk);
  }
  events::work_begins(of_league ? events::Work::distribute : events::Work::loop_static, bounds.count());
  const StaticShare share = take_share(schedule, bounds, chunk, of_league ? task.icv.league : task.size,
                                       of_league ? task.icv.league_number : task.number);
  *lower = bounds.lower;
  *upper = bounds.upper;
  if (last != nullptr) *last = share.has_last;
  *stride = static_cast<Step>(share.stride * static_cast<std::uint64_t>(step));
}

// The team's part of a distributed loop, without chunks. Result: whether it has the last iteration.
template <class Value>
bool take_part_of_team(Bounds<Value>& bounds) {
  const Icv& icv = implicit_task().icv;
  return take_share(schedules::distribute_whole, bounds, 0, icv.league, icv.league_number).has_last;
}

template <class Value, class Step>
void static_init_in_league(std::int32_t schedule, std::int32_t* last, Value* lower, Value* upper,
                           Value* upper_of_team, Step* stride, Step step, Step chunk) {
  const ImplicitTask& task = implicit_task();
  Bounds<Value> bounds{*lower, *upper, step};
  const bool is_last_team = take_part_of_team(bounds);
  *upper_of_team = bounds.upper;
  const StaticShare share = take_share(plain(schedule), bounds, chunk, task.size, task.number);
  *lower = bounds.lower;
  *upper = bounds.upper;
  if (last != nullptr) *last = is_last_team && share.has_last;
  *stride = static_cast<Step>(share.stride * static_cast<std::uint64_t>(step));
}

template <class Value, class Step>
void team_static_init(std::int32_t* last, Value* lower, Value* upper, Step* stride, Step step, Step chunk) {
  const Icv& icv = implicit_task().icv;
  Bounds<Value> bounds{*lower, *upper, step};
  const StaticShare share =
      take_share(schedules::distribute_chunked, bounds, chunk, icv.league, icv.league_number);
  *lower = bounds.lower;
  *upper = bounds.upper;
  if (last != nullptr) *last = share.has_last;
  *stride = static_cast<Step>(share.stride * static_cast<std::uint64_t>(step));
}

LoopSpecification specify(const IterationSpace& space, std::int32_t schedule, std::int64_t chunk) {
  schedule = plain(schedule);
  LoopSpecification specification{space, Schedule::static_chunks, 0, is_ordered(schedule), false};
  if (specification.ordered) schedule -= schedules::ordered;
  switch (schedule) {
    case schedules::runtime:
    case schedules::runtime_simd:
      apply_run_schedule(implicit_task(), specification);
      break;
    case schedules::dynamic:
    case schedules::static_steal:
      specification.schedule = Schedule::dynamic;
      specification.chunk = chunk_of(chunk);
      break;
    case schedules::guided:
    case schedules::trapezoidal:
    case schedules::guided_iterative:
    case schedules::guided_analytical:
    case schedules::guided_simd:
      specification.schedule = Schedule::guided;
      specification.chunk = chunk_of(chunk);
      break;
    case schedules::static_chunked:
    case schedules::static_balanced_chunked:
      specification.chunk = chunk_of(chunk);
      break;
    default:
      break;
  }
  return specification;
}

void begin(const LoopSpecification& specification) {
  ImplicitTask& task = implicit_task();
  loop_end(task);  // a cancelled one
  const bool in_nest =
      begin_announced_doacross(specification.space, specification.schedule, specification.chunk, false);
  if (in_nest) return;
  loop_begin(task, specification);
}

// Result: whether there is a chunk.
template <class Value, class Step>
std::int32_t next(std::int32_t* last, Value* lower, Value* upper, Step* stride) {
  ImplicitTask& task = implicit_task();
  if (!loop_next(task)) {
    events::work_ends();
    return 0;
  }
  const Loop& loop = task.loop;
  const IterationSpace& space = loop.specification.space;
  if (last != nullptr) *last = loop.chunk.last == space.count;
  *lower = static_cast<Value>(space.value_at(loop.chunk.first));
  *upper = static_cast<Value>(space.value_at(loop.chunk.last - 1));
  if (stride != nullptr) *stride = static_cast<Step>(space.step);
  return 1;
}

}  // namespace

extern "C" {

// `Value` is the type of the loop variable, `Step` its signed variant.
#define MUSUBI_LOOPS(suffix, Value, Step)                                                                    \
  MUSUBI_EXPORT void __kmpc_for_static_init_##suffix(Place*, GlobalThread, std::int32_t schedule,            \
                                                     std::int32_t* last, Value* lower, Value* upper,         \
                                                     Step* stride, Step step, Step chunk) {                  \
    MUSUBI_OMP_ENTRY();                                                                                      \
    static_init(schedule, last, lower, upper, stride, step, chunk);                                          \
  }                                                                                                          \
  MUSUBI_EXPORT void __kmpc_dist_for_static_init_##suffix(                                                   \
      Place*, GlobalThread, std::int32_t schedule, std::int32_t* last, Value* lower, Value* upper,           \
      Value* upper_of_team, Step* stride, Step step, Step chunk) {                                           \
    static_init_in_league(schedule, last, lower, upper, upper_of_team, stride, step, chunk);                 \
  }                                                                                                          \
  MUSUBI_EXPORT void __kmpc_team_static_init_##suffix(Place*, GlobalThread, std::int32_t* last,              \
                                                      Value* lower, Value* upper, Step* stride, Step step,   \
                                                      Step chunk) {                                          \
    team_static_init(last, lower, upper, stride, step, chunk);                                               \
  }                                                                                                          \
  MUSUBI_EXPORT void __kmpc_dispatch_init_##suffix(Place*, GlobalThread, std::int32_t schedule, Value lower, \
                                                   Value upper, Step step, Step chunk) {                     \
    MUSUBI_OMP_ENTRY();                                                                                      \
    begin(specify(Bounds<Value>{lower, upper, step}.space(), schedule, chunk));                              \
  }                                                                                                          \
  MUSUBI_EXPORT void __kmpc_dist_dispatch_init_##suffix(Place*, GlobalThread, std::int32_t schedule,         \
                                                        std::int32_t* last, Value lower, Value upper,        \
                                                        Step step, Step chunk) {                             \
    MUSUBI_OMP_ENTRY();                                                                                      \
    Bounds<Value> bounds{lower, upper, step};                                                                \
    const bool is_last_team = take_part_of_team(bounds);                                                     \
    if (last != nullptr) *last = is_last_team;                                                               \
    begin(specify(bounds.space(), schedule, chunk));                                                         \
  }                                                                                                          \
  MUSUBI_EXPORT std::int32_t __kmpc_dispatch_next_##suffix(Place*, GlobalThread, std::int32_t* last,         \
                                                           Value* lower, Value* upper, Step* stride) {       \
    MUSUBI_OMP_ENTRY();                                                                                      \
    return next(last, lower, upper, stride);                                                                 \
  }                                                                                                          \
  /* After each iteration of an ordered loop: the chunk's end passes its turn. */                            \
  MUSUBI_EXPORT void __kmpc_dispatch_fini_##suffix(Place*, GlobalThread) {}
MUSUBI_LOOPS(4, std::int32_t, std::int32_t)
MUSUBI_LOOPS(4u, std::uint32_t, std::int32_t)
MUSUBI_LOOPS(8, std::int64_t, std::int64_t)
MUSUBI_LOOPS(8u, std::uint64_t, std::int64_t)

MUSUBI_EXPORT void __kmpc_for_static_fini(Place*, GlobalThread) {
  events::work_ends();
}
MUSUBI_EXPORT void __kmpc_dispatch_deinit(Place*, GlobalThread) {}

// Sections as a dynamic loop over their numbers, from 0. The result of next_section is at least their number
// when none is left.
MUSUBI_EXPORT void __kmpc_sections_init(Place*, GlobalThread, std::int32_t count) {
  MUSUBI_OMP_ENTRY();
  loop_begin(implicit_task(), {IterationSpace::of(0, count, 1), Schedule::dynamic, 1, false, true});
}
MUSUBI_EXPORT std::int32_t __kmpc_next_section(Place*, GlobalThread, std::int32_t count) {
  MUSUBI_OMP_ENTRY();
  const ImplicitTask& task = implicit_task();
  return loop_next(implicit_task()) ? static_cast<std::int32_t>(task.loop.chunk.first) : count;
}
MUSUBI_EXPORT void __kmpc_end_sections(Place*, GlobalThread) {
  events::work_ends();
}

MUSUBI_EXPORT void __kmpc_ordered(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  ordered_begin(implicit_task());
}
MUSUBI_EXPORT void __kmpc_end_ordered(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  ordered_end(implicit_task());
}

}  // extern "C"
