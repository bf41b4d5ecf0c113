// Parallel regions: opening, the members' parts, and the join of the ranks.
//
// One thread, the one that runs main on rank 0, opens teams over the ranks. Regions inside an active region,
// and regions opened by threads that the program made itself, have teams inside their rank (inner_teams.h). A
// team of one runs in the calling thread alone.
#pragma once

#include <cstdint>
#include <optional>

#include "omp/contention_group.h"
#include "omp/pool.h"
#include "omp/region.h"
#include "omp/thread.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

struct Job;

struct RegionRequest {
  Function function = nullptr;
  void* data = nullptr;
  std::uint32_t threads = 0;                // 0: nthreads-var
  const LoopSpecification* loop = nullptr;  // of a combined construct
  TaskReductions* reductions = nullptr;     // see Region
  ProcBind bind = ProcBind::no;             // no: no such clause
  std::optional<Spacing> spacing = {};      // if the caller decides that
  // If `function` only passes on to the program's code: the address of that, and its arguments' words, in the
  // memory of `data`.
  std::uintptr_t code = 0;
  const void* arguments = nullptr;
};

// Whether an active region that the calling thread opens in that task has a team over the ranks.
bool opens_over_ranks(const Job& job, const ImplicitTask& member);

// The largest size that a region opened now may have: it is smaller if the threads that are left are fewer.
std::uint32_t team_size_max(std::uint32_t threads);

// #pragma omp parallel: runs the function in every thread of a team. Result: the size of the team.
std::uint32_t parallel(const RegionRequest& request);

// The same in two halves, for callers that run the function themselves in between: begin enters `task`, which
// lives until end_parallel.
void begin_parallel(const RegionRequest& request, ImplicitTask& task);
void end_parallel();

// A rank other than 0 serves the region that `fork` announced, up to and including its join. First thread of
// the rank.
void serve_region(Job& job, const runtime::BarrierPayload& fork);
// A worker's part of the team's open region; `index` counts the members of this rank.
void run_worker(Team& team, std::uint32_t index, Pool::Worker& worker);

// Replaces the calling thread's task by an initial task (a team of a league, a target region) during its
// lifetime: outside all regions, with the control variables of the task around it.
class InitialTaskScope {
 public:
  InitialTaskScope();
  ~InitialTaskScope();
  InitialTaskScope(const InitialTaskScope&) = delete;
  InitialTaskScope& operator=(const InitialTaskScope&) = delete;

  ImplicitTask& task() { return task_; }

 private:
  ImplicitTask task_;
  ContentionGroup contention_;
};

}  // namespace musubi::omp
