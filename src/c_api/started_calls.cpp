#include "c_api/started_calls.h"

#include <utility>

#include "c_api/job.h"
#include "c_api/thread_end.h"

namespace musubi::c_api {
namespace {

using runtime::StartedTasks;

constinit thread_local StartedTasks* calls_of_thread = nullptr;

// After the job's end no call completes any more.
void wait_at_end() {
  if (current_job() != nullptr) delete calls_of_thread;
  calls_of_thread = nullptr;
}

}  // namespace

StartedTasks::Handle start_call(runtime::ThreadExecutor& executor, Task<> task) {
  if (calls_of_thread == nullptr) {
    static ThreadEnd end(wait_at_end);
    calls_of_thread = new StartedTasks(executor);
    end.expect();
  }
  return calls_of_thread->start(std::move(task));
}

StartedTasks::State wait_for_call(StartedTasks::Handle handle) {
  if (handle == 0) return StartedTasks::State::done;
  if (calls_of_thread == nullptr) return StartedTasks::State::unknown;
  return calls_of_thread->wait(handle);
}

StartedTasks::State test_call(StartedTasks::Handle handle) {
  if (handle == 0) return StartedTasks::State::done;
  if (calls_of_thread == nullptr) return StartedTasks::State::unknown;
  return calls_of_thread->test(handle);
}

void wait_for_started_calls() {
  if (calls_of_thread != nullptr) calls_of_thread->wait_for_all();
}

}  // namespace musubi::c_api
