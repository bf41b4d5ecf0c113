// Events of detachable tasks that other ranks fulfil.
#pragma once

#include "omp/tasks/task_arena.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

// Before the job's first barrier.
void serve_task_events(runtime::Runtime& runtime);
// Ends the tasks of this arena whose events other ranks have fulfilled, and makes those ranks' writes
// visible. The calling thread is a member, and runs program code.
void end_posted_tasks(TaskArena& arena);

// A member is about to sleep: if a task of this rank waits for its event, releases what the rank has written,
// since a thread of another rank may wait for a word that the task stored. Result: whether it did.
bool release_for_events();

}  // namespace musubi::omp
