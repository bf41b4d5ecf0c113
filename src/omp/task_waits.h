// Waits in which the calling thread runs tasks.
#pragma once

#include <utility>

#include "omp/running_tasks.h"
#include "omp/task_events.h"
#include "omp/thread.h"

namespace musubi::omp {

// Runs a task on the calling member, or ends one whose event was fulfilled elsewhere. `within`: as
// TaskArena::find has it. Result: whether there was one.
inline bool run_one_task(TaskSeat& seat, const Family* within) {
  TaskArena& arena = *seat.arena;
  if (arena.has_posted()) end_posted_tasks(arena);
  TaskRecord* const record = arena.find(seat, within);
  if (record != nullptr) run_record(*record);
  return record != nullptr;
}

// After the bell's prepare().
inline void sleep_for_tasks(TaskArena& arena, std::uint32_t seen, const Family* within) {
  OtherRanks* const others = arena.other_ranks;
  if (others != nullptr) others->wait_begins(within);
  arena.bell().sleep(seen);
  if (others != nullptr) others->wait_ends(within);
}

// Runs tasks on the calling member until `over`(), and sleeps while there are none: each change that ends the
// wait is followed by a ring of the arena's bell. `within`: if it is not null, the
// calling thread has suspended that task. Blocks.
template <class Over>
void run_tasks_until(TaskSeat& seat, const Family* within, Over over) {
  TaskArena& arena = *seat.arena;
  bool released = false;
  while (!over()) {
    if (run_one_task(seat, within)) {
      released = false;
      continue;
    }
    const std::uint32_t seen = arena.bell().prepare();
    if (over()) return;
    if (within != nullptr) arena.give_up_deque(seat);
    if (run_one_task(seat, within)) {
      released = false;
      continue;
    }
    if (!std::exchange(released, true) && release_for_events()) continue;
    sleep_for_tasks(arena, seen, within);
  }
}

// As run_tasks_until for a member that is done with its part of the region, whose end it does not await: also
// returns once that time of the arena is over, though it is not woken for that.
template <class Over>
void help_until(TaskSeat& seat, std::uint32_t opening, Over over) {
  TaskArena& arena = *seat.arena;
  bool released = false;
  while (true) {
    std::uint32_t seen;
    {
      const TaskArena::Helper helper(arena);
      if (!helper.is_in(opening) || over()) return;
      seen = arena.bell().prepare();
      if (over()) return;
      if (run_one_task(seat, nullptr)) {
        released = false;
        continue;
      }
      if (!std::exchange(released, true) && release_for_events()) continue;
    }
    sleep_for_tasks(arena, seen, nullptr);
  }
}

// Until all tasks of the calling member's team outside its groups have ended on this rank. REQUIRES: no
// member makes tasks outside of tasks.
void run_tasks_to_the_end(TaskSeat& seat);

}  // namespace musubi::omp
