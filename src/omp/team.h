// Teams: parallel regions over ranks x threads, their barriers, and the life of the OpenMP layer in a
// process.
//
// One thread, the one that runs main on rank 0, opens teams over the ranks. Regions inside a region, regions
// opened by threads that the program made itself, and teams of one run in the calling thread alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "omp/region.h"
#include "omp/thread.h"
#include "runtime/runtime.h"

namespace musubi::omp {

// Reads the OMP_ variables and prepares the process. Once, before anything else; `runtime` outlives
// everything. `stacks_hold_storage`: other threads may know of what lies above a thread's first frame, that
// is of its thread-local variables.
void start(runtime::Runtime& runtime, bool stacks_hold_storage);

// In a child made by fork, which has no team: the first construct that needs one calls `refuse`, which does
// not return.
void leave_job(void (*refuse)()) noexcept;

// The calling thread runs main (rank 0), or stands for the rank (others); its stack lies in the shared range.
// `first_frame`: as adopt_stack's. REQUIRES: start() before; the thread is attached to the runtime.
void adopt_main_thread(const runtime::ThreadStack& stack, const void* first_frame);

// Ranks other than 0: takes part in regions until rank 0 ends the job. Result: the program's status. The
// caller then flushes its files, calls runtime.finish and leaves with _exit, since destructors belong to rank
// 0.
struct ExitDecision {
  int status;
};
ExitDecision worker_main();

// Rank 0, at the end of the program: tells the other ranks to leave worker_main. False when a parallel region
// is active (exit() inside a region): the others cannot be reached that way, and the job must be ended as
// such.
bool shut_down(int status);

struct RegionRequest {
  Function function = nullptr;
  void* data = nullptr;
  std::uint32_t threads = 0;                // 0: nthreads-var
  const LoopSpecification* loop = nullptr;  // of a combined construct
  bool reductions = false;
};

// The size that a region opened now would have.
std::uint32_t team_size(std::uint32_t threads);

// #pragma omp parallel: runs the function in every thread of a team. Result: the size of the team.
std::uint32_t parallel(const RegionRequest& request);

// The same in two halves, for callers that run the function themselves in between: begin enters `task`, which
// lives until end_parallel.
void begin_parallel(const RegionRequest& request, ImplicitTask& task);
void end_parallel();

struct Broadcast;
// #pragma omp barrier: with release and acquire of shared memory. The value that a thread sent by
// `broadcast`, if any, is everybody's afterwards; all threads of a rank pass the same one. Result: whether
// the team met; false when the region was cancelled, and threads may not have come.
bool barrier(Broadcast* broadcast = nullptr);

// An initial task in the place of the calling thread's (a team of a league, a target region), as long as this
// object lives: outside all regions, with the control variables of the task around it.
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
