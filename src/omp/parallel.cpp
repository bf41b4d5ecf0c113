#include "omp/parallel.h"

#include <algorithm>

#include "base/check.h"
#include "omp/affinity.h"
#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/task_waits.h"
#include "omp/tasks.h"
#include "omp/team.h"
#include "omp/worksharing.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {
namespace {

// The calling thread becomes member `number`; `team`: null for a team of one.
void enter(ImplicitTask& task, const Region& region, Team* team, std::uint32_t number) {
  Thread& thread = this_thread();
  task.parent = &current_task();
  task.outer = thread.implicit;
  MUSUBI_CHECK((team != nullptr) == (region.size > 1) && number < region.size);
  MUSUBI_CHECK(team == nullptr || team->parent == task.outer->team);
  task.team = team;
  if (team != nullptr) task.seat = &team->tasks().seat(number - team->first_here());
  task.size = region.size;
  task.number = number;
  task.level = region.level;
  task.active_level = region.size > 1 ? task.outer->active_level + 1 : task.outer->active_level;
  task.icv = region.icv;
  task.loops = region.loops;
  task.singles = region.singles;
  thread.task = thread.implicit = &task;
  if (const Job* job = Job::current(); job != nullptr && job->environment.display_affinity)
    display_affinity_when_changed();
  runtime::note_team(number, region.size);
  runtime::note_entry(reinterpret_cast<std::uintptr_t>(region.function));
  if (region.loop != nullptr) loop_begin(task, *region.loop);
}

// Its last constructs.
void end_constructs(ImplicitTask& task) {
  end_own_single(task);
  if (cancellation_enabled()) loop_end(task);
}

void leave(ImplicitTask& task) {
  MUSUBI_CHECK(this_thread().task == &task && this_thread().implicit == &task && task.outer != nullptr);
  end_constructs(task);
  leave_seat(task);
  free_construct_memory(task);
  this_thread().implicit = task.outer;
  this_thread().task = task.parent;
  runtime::note_team(task.outer->number, task.outer->size > 1 ? task.outer->size : 0);
}

// The member's tasks take part in the reductions of the region.
void enter_group(ImplicitTask& task, TaskReductions& reductions) {
  group_begin(TaskGroup::Kind::region);
  task.group->reductions = &reductions;
}

// Ends the region's own group, and those that a thread leaves open in a cancelled region.
void leave_groups(ImplicitTask& task) {
  while (task.group != nullptr) group_end();
}

bool opens_team(const ImplicitTask& member, const Icv& icv) {
  if (!this_thread().forks || member.active_level != 0 || icv.max_active_levels == 0) return false;
  const Job* job = Job::current();
  return job != nullptr && !job->team.is_open();
}

std::uint32_t team_size(std::uint32_t threads, const ImplicitTask& member, const Icv& icv) {
  if (!opens_team(member, icv)) return 1;
  return std::min(threads == 0 ? icv.threads : threads, icv.thread_limit);
}

// Threads that are new in a team of this size inherit it from the calling thread.
const InheritedState* inherited_from_here(Job& job) {
  const os::ThreadState now = os::thread_state();
  const os::ThreadStateParts changed = os::differences(now, job.state_at_start);
  if (changed == 0 && job.inherited == nullptr) return nullptr;
  if (job.inherited == nullptr) {
    job.inherited =
        static_cast<InheritedState*>(allocate_shared_zeroed(alignof(InheritedState), sizeof(InheritedState)));
  }
  *job.inherited = {now, job.inherited->parts | changed};
  return job.inherited;
}

// Starts the members of this rank, and announces the region to other ranks. `task`: of the thread that opens
// it.
[[gnu::always_inline]] inline void open_team(Job& job, const Region& region, ImplicitTask& task) {
  Team& team = job.team;
  team.open(region);
  job.pool.reserve(team.members_here());
  if (job.ranks > 1) {
    if (job.before_region != nullptr) job.before_region();
    runtime::Synchronization& synchronization = job.runtime.synchronization();
    const StoreBound stores = synchronization.stores_of(reinterpret_cast<std::uintptr_t>(region.function),
                                                        region.data, __builtin_frame_address(0));
    runtime::BarrierPayload payload = encode_fork(region, stores, job.environment.initial, task.details);
    if (has_details(payload)) note_stack(__builtin_frame_address(0));  // `task` may be in the caller's frame
    synchronization.barrier(payload);
    synchronization.begin_region(stores);
  }
  job.pool.start(team.members_here());
}

// The rank's first thread has ended its part: the members' tasks end, then the ranks meet.
void join_team(Job& job, const ImplicitTask& task) {
  note_stack(__builtin_frame_address(0));
  Team& team = *task.team;
  const runtime::Waiting wait(runtime::Wait::join);
  run_tasks_until(*task.seat, nullptr, [&] { return job.pool.are_done(team.members_here()); });
  run_tasks_to_the_end(*task.seat);
  team.join();
  job.runtime.synchronization().end_region();
}

// One member's part of the open region; `index` counts the members of this rank. `end`(task) ends it.
template <class End>
void run_member(std::uint32_t index, End end) {
  Team& team = Job::current()->team;
  MUSUBI_CHECK(team.is_open());
  const Region region = team.region();
  if (index >= team.members_kept()) {
    os::set_floating_point_modes(region.modes);
    if (region.inherited != nullptr) os::set_thread_state(region.inherited->state, region.inherited->parts);
  }
  ImplicitTask task;
  enter(task, region, &team, team.first_here() + index);
  if (region.reductions != nullptr) enter_group(task, *region.reductions);
  {
    const runtime::Traced traced(runtime::Event::parallel_region,
                                 reinterpret_cast<std::uintptr_t>(region.function));
    region.function(region.data);
  }
  leave_groups(task);
  end_constructs(task);
  free_construct_memory(task);
  end(task);
  leave(task);
}

}  // namespace

void run_worker(std::uint32_t index, Pool::Worker& worker) {
  run_member(index, [&](ImplicitTask& task) {
    const runtime::Waiting wait(runtime::Wait::region);
    TaskSeat& seat = *task.seat;
    worker.rest(seat.arena->bell(), [&](auto over) { help_until(seat, over); });
  });
}

void serve_region(Job& job, const runtime::BarrierPayload& fork) {
  Team& team = job.team;
  team.open(decode_fork(fork, job.environment.initial));
  const std::uint32_t members = team.members_here();
  if (members == 0) {
    team.attend();
    return team.close();
  }
  job.pool.reserve(members);
  job.runtime.synchronization().begin_region(team.region().stores());
  job.pool.start(members);
  run_member(0, [&](ImplicitTask& task) { join_team(job, task); });
  team.close();
}

std::uint32_t team_size(std::uint32_t threads) {
  return team_size(threads, implicit_task(), current_task().icv);
}

[[gnu::noinline]] void begin_parallel(const RegionRequest& request, ImplicitTask& task) {
  Job::refuse_if_left();
  const ImplicitTask& outer = implicit_task();
  const Icv& icv = this_thread().task->icv;
  Region region;
  region.function = request.function;
  region.data = request.data;
  region.size = team_size(request.threads, outer, icv);
  region.level = outer.level + 1;
  region.icv = icv;
  region.loops = outer.loops;
  region.singles = outer.singles;
  region.loop = request.loop;
  region.reductions = request.reductions;
  if (region.size == 1) return enter(task, region, nullptr, 0);
  region.modes = os::floating_point_modes();
  Job& job = *Job::current();
  if (region.size > job.team.region().size) region.inherited = inherited_from_here(job);
  open_team(job, region, task);
  enter(task, region, &job.team, 0);
}

void end_parallel() {
  ImplicitTask& task = implicit_task();
  if (Team* const team = task.team) {
    Job& job = *Job::current();
    end_constructs(task);
    join_team(job, task);
    forget_cancellation(task);
    team->close();
    task.outer->loops = task.loops;
    task.outer->singles = task.singles;
  }
  leave(task);
}

std::uint32_t parallel(const RegionRequest& request) {
  ImplicitTask task;
  note_stack(__builtin_frame_address(0));
  begin_parallel(request, task);
  if (request.reductions != nullptr) enter_group(task, *request.reductions);
  const std::uint32_t size = task.size;
  {
    const runtime::Traced traced(runtime::Event::parallel_region,
                                 reinterpret_cast<std::uintptr_t>(request.function));
    request.function(request.data);
  }
  leave_groups(task);
  note_stack(__builtin_frame_address(0));
  end_parallel();
  return size;
}

InitialTaskScope::InitialTaskScope() {
  ImplicitTask& around = implicit_task();
  task_.outer = &around;
  task_.parent = &current_task();
  task_.icv = task_.parent->icv;
  task_.loops = around.loops;
  task_.singles = around.singles;
  this_thread().task = this_thread().implicit = &task_;
}

InitialTaskScope::~InitialTaskScope() {
  task_.outer->loops = task_.loops;
  task_.outer->singles = task_.singles;
  this_thread().implicit = task_.outer;
  this_thread().task = task_.parent;
}

}  // namespace musubi::omp
