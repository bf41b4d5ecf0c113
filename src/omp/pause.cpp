#include "omp/pause.h"

#include "base/check.h"
#include "omp/region.h"
#include "omp/thread.h"

namespace musubi::omp {
namespace {

void end_threads_here(Job& job) {
  job.crew.disband();
  job.pool.end_idle();
  job.team.forget_threads();
}

// As a region, whose code is that of destructors: any store may be in it.
void begin(Job& job) {
  job.runtime.synchronization().begin_region({});
}

void end(Job& job) {
  runtime::BarrierPayload payload = encode(BarrierKind::join);
  job.runtime.synchronization().barrier(payload);
  MUSUBI_CHECK(kind_of(payload) == BarrierKind::join);
  job.runtime.synchronization().end_region();
}

// On the thread that runs main.
void pause_all_ranks(Job& job) {
  runtime::BarrierPayload payload = encode(BarrierKind::pause);
  job.runtime.synchronization().barrier(payload);
  begin(job);
  end_threads_here(job);
  end(job);
}

}  // namespace

bool pause_host() {
  Job::refuse_if_left();
  const Thread& thread = this_thread();
  if (&implicit_task() != &thread.initial) return false;
  Job* const job = Job::current();
  if (job == nullptr) return true;
  if (!thread.forks) {
    job->pool.end_idle();
  } else if (job->ranks > 1) {
    pause_all_ranks(*job);
  } else {
    end_threads_here(*job);
  }
  return true;
}

void begin_pause_here(Job& job) {
  begin(job);
  end_threads_here(job);
}

void end_pause_here(Job& job) {
  end(job);
}

}  // namespace musubi::omp
