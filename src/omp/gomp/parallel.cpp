// Parallel regions, with and without a work-sharing construct in them, and teams on the host.
#include <algorithm>
#include <new>

#include "omp/entry.h"
#include "omp/gomp/loop_values.h"
#include "omp/gomp/reductions.h"
#include "omp/league.h"
#include "omp/parallel.h"
#include "omp/shared_memory.h"

using namespace musubi::omp;
using gomp::specify;
using gomp::specify_runtime;
using gomp::specify_sections;

namespace {

// The clause proc_bind; its numbers are those of omp_proc_bind_t.
ProcBind bind_of(unsigned flags) {
  constexpr unsigned mask = 7;
  const unsigned bind = flags & mask;
  return bind <= static_cast<unsigned>(ProcBind::spread) ? static_cast<ProcBind>(bind) : ProcBind::no;
}

void run(Function function, void* data, unsigned threads, unsigned flags, const LoopSpecification& loop) {
  parallel({.function = function, .data = data, .threads = threads, .loop = &loop, .bind = bind_of(flags)});
}

// The interface of gcc before 4.9 opens a region in one call and closes it in another, and the master runs
// the function in between. The region's task must outlive the call.
struct OpenRegion : ImplicitTask {
  LoopSpecification loop;
};

void open_region(Function function, void* data, unsigned threads, const LoopSpecification* loop) {
  auto* region = new (allocate_shared_zeroed(alignof(OpenRegion), sizeof(OpenRegion))) OpenRegion{};
  RegionRequest request{.function = function, .data = data, .threads = threads};
  if (loop != nullptr) {
    region->loop = *loop;
    request.loop = &region->loop;
  }
  begin_parallel(request, *region);
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void GOMP_parallel(Function function, void* data, unsigned threads, unsigned flags) {
  MUSUBI_OMP_ENTRY();
  parallel({.function = function, .data = data, .threads = threads, .bind = bind_of(flags)});
}

MUSUBI_EXPORT unsigned GOMP_parallel_reductions(Function function, void* data, unsigned threads,
                                                unsigned flags) {
  MUSUBI_OMP_ENTRY();
  TaskReductions* const reductions = gomp::team_reduction_begin(data, team_size_max(threads));
  return parallel({.function = function,
                   .data = data,
                   .threads = threads,
                   .reductions = reductions,
                   .bind = bind_of(flags)});
}

MUSUBI_EXPORT void GOMP_parallel_start(Function function, void* data, unsigned threads) {
  MUSUBI_OMP_ENTRY();
  open_region(function, data, threads, nullptr);
}

MUSUBI_EXPORT void GOMP_parallel_end() {
  MUSUBI_OMP_ENTRY();
  auto* region = static_cast<OpenRegion*>(&implicit_task());
  end_parallel();
  free_shared(region);
}

#define MUSUBI_PARALLEL_LOOP(name, schedule)                                                                \
  MUSUBI_EXPORT void GOMP_parallel_loop_##name(Function function, void* data, unsigned threads, long start, \
                                               long end, long step, long chunk, unsigned flags) {           \
    MUSUBI_OMP_ENTRY();                                                                                     \
    run(function, data, threads, flags,                                                                     \
        specify(IterationSpace::of(start, end, step), schedule, static_cast<std::uint64_t>(chunk), false)); \
  }
#define MUSUBI_PARALLEL_LOOP_RUNTIME(name)                                                                  \
  MUSUBI_EXPORT void GOMP_parallel_loop_##name(Function function, void* data, unsigned threads, long start, \
                                               long end, long step, unsigned flags) {                       \
    MUSUBI_OMP_ENTRY();                                                                                     \
    run(function, data, threads, flags, specify_runtime(IterationSpace::of(start, end, step), false));      \
  }
MUSUBI_PARALLEL_LOOP(static, Schedule::static_chunks)
MUSUBI_PARALLEL_LOOP(dynamic, Schedule::dynamic)
MUSUBI_PARALLEL_LOOP(guided, Schedule::guided)
MUSUBI_PARALLEL_LOOP(nonmonotonic_dynamic, Schedule::dynamic)
MUSUBI_PARALLEL_LOOP(nonmonotonic_guided, Schedule::guided)
MUSUBI_PARALLEL_LOOP_RUNTIME(runtime)
MUSUBI_PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
MUSUBI_PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

#define MUSUBI_PARALLEL_LOOP_START(name, schedule)                                                         \
  MUSUBI_EXPORT void GOMP_parallel_loop_##name##_start(Function function, void* data, unsigned threads,    \
                                                       long start, long end, long step, long chunk) {      \
    MUSUBI_OMP_ENTRY();                                                                                    \
    const auto loop =                                                                                      \
        specify(IterationSpace::of(start, end, step), schedule, static_cast<std::uint64_t>(chunk), false); \
    open_region(function, data, threads, &loop);                                                           \
  }
MUSUBI_PARALLEL_LOOP_START(static, Schedule::static_chunks)
MUSUBI_PARALLEL_LOOP_START(dynamic, Schedule::dynamic)
MUSUBI_PARALLEL_LOOP_START(guided, Schedule::guided)

MUSUBI_EXPORT void GOMP_parallel_loop_runtime_start(Function function, void* data, unsigned threads,
                                                    long start, long end, long step) {
  MUSUBI_OMP_ENTRY();
  const auto loop = specify_runtime(IterationSpace::of(start, end, step), false);
  open_region(function, data, threads, &loop);
}

MUSUBI_EXPORT void GOMP_parallel_sections(Function function, void* data, unsigned threads, unsigned count,
                                          unsigned flags) {
  MUSUBI_OMP_ENTRY();
  run(function, data, threads, flags, specify_sections(count));
}

MUSUBI_EXPORT void GOMP_parallel_sections_start(Function function, void* data, unsigned threads,
                                                unsigned count) {
  MUSUBI_OMP_ENTRY();
  const auto loop = specify_sections(count);
  open_region(function, data, threads, &loop);
}

// A league without a given number of teams has one.
MUSUBI_EXPORT void GOMP_teams_reg(Function function, void* data, unsigned teams, unsigned thread_limit,
                                  unsigned /*flags*/) {
  MUSUBI_OMP_ENTRY();
  run_league(function, data, teams, thread_limit);
}

MUSUBI_EXPORT void GOMP_teams(unsigned /*teams*/, unsigned thread_limit) {
  enter_team(current_task().icv, 1, 0, thread_limit);
}

// In a target region, at the beginning of each team: true as long as there is a team to run.
MUSUBI_EXPORT bool GOMP_teams4(unsigned low, unsigned /*high*/, unsigned thread_limit, bool first) {
  Icv& icv = current_task().icv;
  if (!first) return ++icv.league_number < icv.league;
  enter_team(icv, std::max(low, 1u), 0, thread_limit);
  return true;
}

}  // extern "C"
