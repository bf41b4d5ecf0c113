// Tasks that travel between the ranks of a job (task_stealing/stealing.h), as a front end uses them.
#pragma once

#include <cstdint>

#include "task_stealing/stealing.h"

namespace musubi::runtime {

class TaskTravel {
 public:
  // From now on tasks of this rank may travel: starts the rank's assistant. On every rank, before the job's
  // first barrier; `tasks` outlives the job. Result: false if tasks stay where they are made, at all ranks:
  // one rank, one memory, or the setting task_stealing says so.
  virtual bool begin(task_stealing::LocalTasks& tasks) = 0;
  // REQUIRES: begin() was true, as for the rest. For the functions that do not wait.
  virtual task_stealing::Stealing& stealing() noexcept = 0;

  // Stealing::come() and pass_on(). Block.
  virtual std::uint64_t come() = 0;
  virtual void pass_on(std::uint64_t meeting) = 0;

 protected:
  ~TaskTravel() = default;
};

}  // namespace musubi::runtime
