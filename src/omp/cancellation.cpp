#include "omp/cancellation.h"

#include "omp/job.h"
#include "omp/team.h"
#include "omp/worksharing.h"

namespace musubi::omp {
namespace {

template <class Group>
Group* group_to_cancel(Group* group) {
  while (group != nullptr && group->kind != TaskGroup::Kind::taskgroup) group = group->outer;
  return group;
}

events::Cancelled heard_as(const ImplicitTask& task, Cancellable construct) {
  if (construct == Cancellable::region) return events::Cancelled::region;
  if (construct == Cancellable::taskgroup) return events::Cancelled::taskgroup;
  return task.loop.specification.one_by_one ? events::Cancelled::sections : events::Cancelled::loop;
}

}  // namespace

bool cancellation_enabled() noexcept {
  const Job* job = Job::current();
  return job != nullptr && job->environment.cancellation;
}

bool region_is_cancelled(const ImplicitTask& task) {
  if (!cancellation_enabled()) return false;
  return task.team == nullptr ? task.cancelled : task.team->is_cancelled();
}

bool cancel(ImplicitTask& task, Cancellable construct) {
  if (!cancellation_enabled()) return false;
  events::cancel(heard_as(task, construct), events::CancelStep::activated);
  switch (construct) {
    case Cancellable::loop:
      if (task.team != nullptr)
        task.team->words.store(Rank{0}, words::cancelled_loop, std::uint64_t{task.barriers} + 1);
      break;
    case Cancellable::taskgroup:
      if (TaskGroup* group = group_to_cancel(current_task().group)) group->cancelled = true;
      break;
    case Cancellable::region:
      if (task.team != nullptr) {
        task.team->cancel();
      } else {
        task.cancelled = true;
      }
  }
  return true;
}

namespace {

bool is_cancelled(const ImplicitTask& task, Cancellable construct) {
  switch (construct) {
    case Cancellable::loop:
      return task.team != nullptr &&
             task.team->words.load(Rank{0}, words::cancelled_loop) == std::uint64_t{task.barriers} + 1;
    case Cancellable::taskgroup:
      return drops_tasks(current_task().group);
    case Cancellable::region:
      break;
  }
  return region_is_cancelled(task);
}

}  // namespace

bool cancellation_point(const ImplicitTask& task, Cancellable construct) {
  if (!cancellation_enabled() || !is_cancelled(task, construct)) return false;
  events::cancel(heard_as(task, construct), events::CancelStep::detected);
  return true;
}

bool drops_tasks(const TaskGroup* innermost) {
  if (!cancellation_enabled()) return false;
  const TaskGroup* group = group_to_cancel(innermost);
  return (group != nullptr && group->cancelled) || region_is_cancelled(implicit_task());
}

void forget_cancellation(ImplicitTask& task) {
  if (!cancellation_enabled()) return;
  TeamWords& team_words = task.team->words;
  // The next region counts its barriers from zero again.
  team_words.store(Rank{0}, words::cancelled_loop, 0);
  if (team_words.load(Rank{0}, words::cancelled_region) == 0) return;
  team_words.store(Rank{0}, words::cancelled_region, 0);
  renumber_constructs(task);
}

}  // namespace musubi::omp
