// The life of the OpenMP layer in a process: from the start of the job to the end of the program.
#pragma once

#include <optional>

#include "omp/region.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

struct ProgramTraits {
  // Other threads may know addresses above a thread's first frame, that is in its thread-local variables.
  bool stacks_hold_storage = true;
  // It has explicit tasks: the same on every rank.
  bool makes_tasks = false;
};

// Reads the OMP_ variables and prepares the process. Called once, first; `runtime` outlives everything.
// `clock_offset_ns`: added to this host's clock it gives rank 0's.
void start(runtime::Runtime& runtime, const ProgramTraits& program, std::int64_t clock_offset_ns = 0);

// The thread that runs main calls `tell` before each region of all ranks. Set before the first region.
void set_before_region(void (*tell)()) noexcept;

// In a child made by fork, which has no team: the first construct that needs one calls `refuse`, which does
// not return.
void leave_job(void (*refuse)()) noexcept;

// The calling thread runs main (rank 0), or represents the rank (other ranks); its stack is in the shared
// range. `first_frame`: as adopt_stack's. REQUIRES: start() before; the thread is attached to the runtime.
void adopt_main_thread(const runtime::ThreadStack& stack, const void* first_frame);

// What a thread inherits that the calling thread makes at another rank; and gives it to the calling thread,
// new at that rank: the rank's state at the start with the creator's changes, except for parts that the
// system forbids. REQUIRES: the main thread has been adopted.
InheritedState state_of_this_thread() noexcept;
void take_over_state(const InheritedState& inherited) noexcept;

// Rank 0, on the thread that runs main, after the program's constructors: starts the tool, if one was found.
// The other ranks start theirs with their first region.
void start_tool();

// Ranks other than 0: takes part in regions until rank 0 ends the job, or its threads. Result: the program's
// status; the caller then flushes its files, calls runtime.finish and leaves with _exit, since destructors
// belong to rank 0. Nothing: the calling thread shall end; a new one calls succeed_main_thread() and goes on
// with worker_main().
struct ExitDecision {
  int status;
};
std::optional<ExitDecision> worker_main();

// As adopt_main_thread, for a thread that replaces the one that represented the rank, which has ended.
void succeed_main_thread(const runtime::ThreadStack& stack, const void* first_frame);

// Whether a region of all ranks is open. Any thread.
bool is_region_open() noexcept;

// Rank 0, at the end of the program: tells the other ranks to leave worker_main. False if a parallel region
// is active (exit() inside a region): the other ranks cannot be reached that way, and the caller must end the
// job itself.
bool shut_down(int status);

}  // namespace musubi::omp
