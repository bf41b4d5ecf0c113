// Work for a member of a team while it waits.
#pragma once

#include "runtime/threads/waiting.h"

namespace musubi::omp {

class IdleWork {
 public:
  // Called by a waiting member, each time before it yields or sleeps. Runs a piece of work, if one is
  // available that such a wait allows. Result: whether it did; the member then checks at once whether its
  // wait is over. Any thread.
  virtual bool run_piece(runtime::Wait wait) noexcept = 0;

 protected:
  ~IdleWork() = default;
};

// Runs a piece of its team's work on the calling thread, which waits. Result: whether there was one.
bool work_while(runtime::Wait wait) noexcept;

}  // namespace musubi::omp
