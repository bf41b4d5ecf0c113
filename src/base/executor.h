// Resumes suspended tasks. In production one executor drives the tasks of one thread; in the simulator one
// executor drives a simulated node in virtual time. A task always runs on the executor on which it was
// started.
#pragma once

#include <coroutine>

namespace musubi {

class Executor {
 public:
  virtual ~Executor() = default;

  // Resumes `task` soon, on the executor's own thread. May be called from any thread; never blocks.
  virtual void ready(std::coroutine_handle<> task) noexcept = 0;

  // Resumes `task` after a pause that grows with `attempt` (0, 1, 2, …): for retries after "busy" or after a
  // concurrent change. Called on the executor's own thread only.
  virtual void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept = 0;
};

}  // namespace musubi
