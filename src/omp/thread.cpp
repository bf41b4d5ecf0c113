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

void adopt_stack(const runtime::ThreadStack& stack, const void* first_frame) {
  Thread& thread = this_thread();
  thread.has_stack = true;
  thread.stack_slot = stack.slot;
  thread.stack_low = stack.low;
  thread.stack_end = Job::require("omp::adopt_stack").stacks_hold_storage ? stack.high : first_frame;
}

void forget_stack() noexcept {
  this_thread().has_stack = false;
}

void note_stack(const void* frame) noexcept {
  const Thread& thread = this_thread();
  if (!thread.has_stack || frame < thread.stack_low || frame >= thread.stack_end) return;
  Job::current()->runtime.threads().note_stack(thread.stack_slot, frame, thread.stack_end);
}

}  // namespace musubi::omp
