// Non-blocking calls of this thread, of any interface: their handles, until they are found complete.
#pragma once

#include "runtime/threads/started_tasks.h"

namespace musubi::c_api {

// Result: 0 if it is complete already.
runtime::StartedTasks::Handle start_call(runtime::ThreadExecutor& executor, Task<> task);
runtime::StartedTasks::State wait_for_call(runtime::StartedTasks::Handle handle);
runtime::StartedTasks::State test_call(runtime::StartedTasks::Handle handle);

// When the thread detaches, ends or leaves the job.
void wait_for_started_calls();

}  // namespace musubi::c_api
