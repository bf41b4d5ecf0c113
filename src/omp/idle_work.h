// What a member of a team can do while it waits.
#pragma once

#include "runtime/threads/waiting.h"

namespace musubi::omp {

class IdleWork {
 public:
  // Called by a member that waits, each time before it yields or sleeps. Does a piece of work, if there is
  // one that such a wait allows. Result: whether it did; the member then looks at once whether its wait is
  // over. Any thread.
  virtual bool run_piece(runtime::Wait wait) noexcept = 0;

 protected:
  ~IdleWork() = default;
};

// The calling thread waits: a piece of its team's work. Result: whether there was one.
bool work_while(runtime::Wait wait) noexcept;

}  // namespace musubi::omp
