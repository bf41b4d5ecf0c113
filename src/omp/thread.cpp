#include "omp/thread.h"

#include "omp/job.h"

namespace musubi::omp {

thread_local constinit Thread thread_state{};

void initialise_thread(Thread& thread) {
  const Job* job = Job::current();
  thread.initial = ImplicitTask{};
  if (job != nullptr) thread.initial.icv = job->environment.initial;
  thread.task = &thread.initial;
}

void note_frame(const void* frame) noexcept {
  const Thread& thread = this_thread();
  if (!thread.has_stack) return;
  Job::current()->runtime.note_stack(thread.stack_slot, frame);
}

}  // namespace musubi::omp
