// OpenMP's state of the calling thread: its task, its part of a region, and the tasks around them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/chunk_pace.h"
#include "omp/contention_group.h"
#include "omp/events.h"
#include "omp/icv.h"
#include "omp/iteration_space.h"
#include "omp/place_partition.h"
#include "omp/region.h"
#include "omp/tasks/family.h"
#include "omp/tasks/task_arena.h"
#include "omp/tasks/task_group.h"
#include "os/yield_meter.h"
#include "runtime/api/runtime.h"
#include "runtime/api/threads.h"

namespace musubi::omp {

// A task: the state that it may change for itself alone, and its position. A thread's part of a region is a
// task, too (ImplicitTask).

struct Task {
  Task* parent = nullptr;      // the thread's previous task; null: none
  Icv icv;                     // ends with the task
  TaskGroup* group = nullptr;  // innermost group around the tasks that this task makes
  std::uint64_t mark = 0;      // identifies the task to nestable locks, once one asked (locks.h)
  bool final = false;
  // Frame of the outermost explicit task that the thread runs in its innermost region; 0: none.
  std::uintptr_t first_frame = 0;
  std::uint32_t depth = 0;           // explicit tasks around it in its region, itself included
  Family* family = nullptr;          // null until it makes a deferred task
  Family* around = nullptr;          // of a deferred task: its parent's
  events::TaskNote* note = nullptr;  // of a tool; null: none yet
};

// A task of `omp task` while a thread runs it, on that thread's stack.
struct ExplicitTask : Task {
  Function function = nullptr;
  void* data = nullptr;
};

// A work-shared loop (or sections) as one thread sees it.
struct Loop {
  LoopSpecification specification;
  std::uint32_t instance = 0;  // the job-wide number of the loop; only when `shared`
  bool shared = false;         // uses a slot of the team words
  bool finished = true;
  bool has_turn = false;  // ordered: this thread's chunk is the current one
  bool doacross = false;
  bool by_shares = false;        // doacross: the thread computes its static chunks itself
  bool by_addition = false;      // dynamic: chunks are handed out by a plain addition
  std::uint64_t chunk_size = 1;  // dynamic and guided: as requested, within the loop
  Chunk chunk;                   // current positions; empty: none
  Chunk batch;                   // dynamic, far: positions that this thread has taken for its next chunks
  ChunkPace pace;                // of its batches
  // static: number of chunks that this thread has had; by_shares: 1 + the chunk of its last post
  std::uint64_t next_share = 0;
  std::uint32_t nest = 1;  // doacross: depth of the nest
};

class Team;

// Memory that a work-sharing construct gave to the team; the thread that made it frees it at the end of the
// region.
struct ConstructMemory {
  ConstructMemory* next;
};

// One implicit task: a thread's part of a parallel region. The initial task has no enclosing one.
struct ImplicitTask : Task {
  ImplicitTask* outer = nullptr;  // of this thread
  // The task that opened the region, of this rank: `outer`, or another thread's for members of inner teams.
  ImplicitTask* ancestor = nullptr;
  ContentionGroup* contention = nullptr;
  PlacePartition partition;  // place-partition-var; empty: all places of the job
  int place = -1;            // of its thread
  Team* team = nullptr;      // null: the task is alone
  TaskSeat* seat = nullptr;  // where its deferred tasks are; null: alone, and there has been none
  std::uint32_t size = 1;    // of the team
  std::uint32_t number = 0;  // of this thread in it
  std::uint32_t level = 0;
  std::uint32_t active_level = 0;
  // Counts of the constructs met: the same in all threads of the team when they meet them (they wrap around).
  std::uint32_t loops = 0;
  std::uint32_t singles = 0;
  std::uint32_t broadcasts = 0;
  std::uint32_t reductions = 0;     // by pairs (reduction_tree.h); from 0 in each region
  bool reduces_under_lock = false;  // between the begin and the end of a reduction
  // Singles whose end is not known yet (open_singles.h): the one that this thread runs, and those after
  // first_awaited up to last_awaited.
  bool runs_single = false;
  std::uint32_t own_single = 0;
  std::uint32_t first_awaited = 0;
  std::uint32_t last_awaited = 0;
  std::uint32_t loops_since_barrier = 0;
  std::uint32_t barriers = 0;  // of the region, if cancellation is enabled
  bool cancelled = false;      // for a team of one; a larger one has a word for it
  RegionDetails details;       // of the region, if they do not fit into its announcement
  Loop loop;
  ConstructMemory* memory = nullptr;
  events::RegionNote* region_note = nullptr;  // of a tool
};

struct Thread {
  Task* task = nullptr;  // its current task: `implicit`, or an explicit one inside it
  ImplicitTask* implicit = nullptr;
  bool forks = false;    // the thread that runs main: it opens teams over the ranks
  ImplicitTask initial;  // task of a thread outside all regions
  ContentionGroup contention;
  int place = -1;  // the number of the place that it is bound to; -1: none
  bool initialised = false;
  std::uint64_t mark = 0;  // as an owner of locks; 0: none yet
  os::YieldMeter yields;
  // doacross: the extents of the inner loops of the thread's nest; private to the process.
  std::uint64_t* inner_extents = nullptr;
  std::size_t inner_extents_max = 0;
  void* offer = nullptr;  // reductions: of the thread's copies (reduction_tree.h); private to the process
  std::size_t displayed_affinity = 0;  // hash of the text, 0: none yet
};

// Thread-local because OpenMP's queries ("which thread am I?") carry no handle, and threads that the program
// made itself must get an answer, too.
extern thread_local constinit Thread thread_state;

inline Thread& this_thread() noexcept {
  return thread_state;
}

// Fills in the initial task.
void initialise_thread(Thread& thread);

// The task whose control variables, group and mark are in effect.
inline Task& current_task() {
  Thread& thread = this_thread();
  if (__builtin_expect(thread.task == nullptr, 0)) initialise_thread(thread);
  return *thread.task;
}
// The calling thread's part of the region.
inline ImplicitTask& implicit_task() {
  Thread& thread = this_thread();
  if (__builtin_expect(thread.implicit == nullptr, 0)) initialise_thread(thread);
  return *thread.implicit;
}

// Registers a stack of the shared range as the calling thread's. `first_frame`: the frame of the function
// that the thread began with.
void adopt_stack(const runtime::ThreadStack& stack, const void* first_frame);

using runtime::note_stack;

}  // namespace musubi::omp
