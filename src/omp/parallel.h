// Parallel regions: opening, the members' parts, and the join of the ranks.
//
// One thread, the one that runs main on rank 0, opens teams over the ranks. Regions inside a region, regions
// opened by threads that the program made itself, and teams of one run in the calling thread alone.
#pragma once

#include <cstdint>

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
};

// The size that a region opened now would have.
std::uint32_t team_size(std::uint32_t threads);

// #pragma omp parallel: runs the function in every thread of a team. Result: the size of the team.
std::uint32_t parallel(const RegionRequest& request);

// The same in two halves, for callers that run the function themselves in between: begin enters `task`, which
// lives until end_parallel.
void begin_parallel(const RegionRequest& request, ImplicitTask& task);
void end_parallel();

// A rank other than 0 serves the region that `fork` announced, up to and including its join. First thread of
// the rank.
void serve_region(Job& job, const runtime::BarrierPayload& fork);
// A member's part of the open region. Called by the threads of the pool.
void run_worker(std::uint32_t index, Pool::Worker& worker);

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
};

}  // namespace musubi::omp
