#include "omp/cancellation.h"

#include "omp/worksharing.h"

namespace musubi::omp {
namespace {

TaskGroup* group_to_cancel(const ImplicitTask& task) {
  TaskGroup* group = task.group;
  while (group != nullptr && group->of_worksharing) group = group->outer;
  return group;
}

}  // namespace

bool cancellation_enabled() noexcept {
  const Job* job = Job::current();
  return job != nullptr && job->environment.cancellation;
}

bool region_is_cancelled(const ImplicitTask& task) {
  if (!cancellation_enabled()) return false;
  if (task.size == 1) return task.cancelled;
  Job& job = *Job::current();
  if (job.region_cancelled.load(std::memory_order_relaxed)) return true;
  if (job.words.load(Rank{0}, words::cancelled_region) == 0) return false;
  job.region_cancelled.store(true, std::memory_order_relaxed);
  return true;
}

bool cancel(ImplicitTask& task, unsigned kind) {
  if (!cancellation_enabled()) return false;
  Job& job = *Job::current();
  if ((kind & (cancel_kinds::loop | cancel_kinds::sections)) != 0) {
    if (task.size > 1) job.words.store(Rank{0}, words::cancelled_loop, std::uint64_t{task.barriers} + 1);
  } else if ((kind & cancel_kinds::taskgroup) != 0) {
    if (TaskGroup* group = group_to_cancel(task)) group->cancelled = true;
  } else if (task.size > 1) {
    job.words.store(Rank{0}, words::cancelled_region, 1);
    job.region_cancelled.store(true, std::memory_order_relaxed);
  } else {
    task.cancelled = true;
  }
  return true;
}

bool cancellation_point(const ImplicitTask& task, unsigned kind) {
  if (!cancellation_enabled()) return false;
  if ((kind & (cancel_kinds::loop | cancel_kinds::sections)) != 0) {
    return task.size > 1 &&
           Job::current()->words.load(Rank{0}, words::cancelled_loop) == std::uint64_t{task.barriers} + 1;
  }
  if ((kind & cancel_kinds::taskgroup) != 0) return drops_tasks(task);
  return region_is_cancelled(task);
}

bool drops_tasks(const ImplicitTask& task) {
  if (!cancellation_enabled()) return false;
  const TaskGroup* group = group_to_cancel(task);
  return (group != nullptr && group->cancelled) || region_is_cancelled(task);
}

void forget_cancellation(ImplicitTask& task) {
  if (!cancellation_enabled()) return;
  Job& job = *Job::current();
  // Numbers of barriers begin again in the next region.
  job.words.store(Rank{0}, words::cancelled_loop, 0);
  if (job.words.load(Rank{0}, words::cancelled_region) == 0) return;
  job.words.store(Rank{0}, words::cancelled_region, 0);
  renumber_constructs(task);
}

}  // namespace musubi::omp
