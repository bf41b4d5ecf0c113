#include "omp/thread.h"

#include "omp/job.h"

namespace musubi::omp {

thread_local constinit Thread thread_state{};

void initialise_thread(Thread& thread) {
  const Job* job = Job::current();
  thread.initial = ImplicitTask{};
  if (job != nullptr) thread.initial.icv = thread.forks ? job->environment.initial : job->icv_of_rank();
  thread.initial.contention = &thread.contention;
  thread.implicit = &thread.initial;
  thread.task = thread.implicit;
  if (job != nullptr) events::thread_begins(events::ThreadKind::initial);
}

void adopt_stack(const runtime::ThreadStack& stack, const void* first_frame) {
  const Job& job = Job::require("omp::adopt_stack");
  if (job.runtime.memory().is_one()) return;  // nothing is released
  runtime::adopt_stack(job.runtime.threads(), stack, job.stacks_hold_storage ? stack.high : first_frame);
}

}  // namespace musubi::omp
