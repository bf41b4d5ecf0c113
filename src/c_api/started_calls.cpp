#include "c_api/started_calls.h"

#include <memory>
#include <utility>

#include "c_api/process.h"

namespace musubi::c_api {
namespace {

using runtime::StartedTasks;

// Behind the job's end nobody completes a call any more.
struct StartedCalls {
  ~StartedCalls() {
    if (current_process() == nullptr) (void)tasks.release();
  }
  std::unique_ptr<StartedTasks> tasks;
};
thread_local StartedCalls calls_of_thread;

}  // namespace

StartedTasks::Handle start_call(runtime::ThreadExecutor& executor, Task<> task) {
  std::unique_ptr<StartedTasks>& tasks = calls_of_thread.tasks;
  if (tasks == nullptr) tasks = std::make_unique<StartedTasks>(executor);
  return tasks->start(std::move(task));
}

StartedTasks::State wait_for_call(StartedTasks::Handle handle) {
  if (handle == 0) return StartedTasks::State::done;
  StartedTasks* const tasks = calls_of_thread.tasks.get();
  return tasks == nullptr ? StartedTasks::State::unknown : tasks->wait(handle);
}

StartedTasks::State test_call(StartedTasks::Handle handle) {
  if (handle == 0) return StartedTasks::State::done;
  StartedTasks* const tasks = calls_of_thread.tasks.get();
  return tasks == nullptr ? StartedTasks::State::unknown : tasks->test(handle);
}

void wait_for_started_calls() {
  if (calls_of_thread.tasks != nullptr) calls_of_thread.tasks->wait_for_all();
}

}  // namespace musubi::c_api
