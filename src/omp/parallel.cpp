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
  task.ancestor = team != nullptr && team->opener() != nullptr ? team->opener() : task.outer;
  MUSUBI_CHECK((team != nullptr) == (region.size > 1) && number < region.size);
  MUSUBI_CHECK(team == nullptr || team != task.outer->team);
  task.team = team;
  if (team != nullptr) task.seat = &team->tasks().seat(number - team->first_here());
  const bool over_ranks = team != nullptr && team->inner == nullptr;
  task.contention = over_ranks ? &Job::current()->contention : task.ancestor->contention;
  task.size = region.size;
  task.number = number;
  task.level = region.level;
  task.active_level = task.ancestor->active_level + (region.size > 1 ? 1 : 0);
  task.first_awaited = task.ancestor->first_awaited;
  task.last_awaited = task.ancestor->last_awaited;
  task.icv = region.icv;
  task.loops = region.loops;
  task.singles = region.singles;
  thread.task = thread.implicit = &task;
  if (Job* const job = Job::current()) {
    if (job->places.exist()) {
      const bool alone = team == nullptr;
      job->places.bind_member(task, region.bind, alone ? 0 : number - team->first_here(),
                              alone ? 1 : team->members_here());
    }
    if (job->environment.display_affinity) display_affinity_when_changed();
  }
  runtime::note_team(number, region.size);
  runtime::note_entry(region.program_code());
  events::member_begins(task);
  if (region.loop != nullptr) loop_begin(task, *region.loop);
}

// The member has come to the end of the region.
void end_constructs(ImplicitTask& task) {
  end_own_single(task);
  if (cancellation_enabled()) loop_end(task);
}

void leave(ImplicitTask& task) {
  MUSUBI_CHECK(this_thread().task == &task && this_thread().implicit == &task && task.outer != nullptr);
  leave_seat(task);
  free_construct_memory(task);  // a member of a pool has done so before it rests
  events::member_ends(task);
  this_thread().implicit = task.outer;
  this_thread().task = task.parent;
  runtime::note_team(task.outer->number, task.outer->size > 1 ? task.outer->size : 0);
}

// The member's tasks take part in the reductions of the region.
void enter_group(ImplicitTask& task, TaskReductions& reductions) {
  group_begin(TaskGroup::Kind::region);
  task.group->reductions = &reductions;
}

// The program's part of the member's task. `code`: for traces.
void run_code(ImplicitTask& task, Function function, void* data, std::uintptr_t code,
              TaskReductions* reductions) {
  if (reductions != nullptr) enter_group(task, *reductions);
  {
    const runtime::Traced traced(runtime::Event::parallel_region, code);
    events::code_runs(__builtin_frame_address(0));
    function(data);
    events::code_runs(nullptr);
  }
  // The region's own group, and those that a thread leaves open in a cancelled region.
  while (task.group != nullptr) group_end();
}

// The size that the region asks for.
std::uint32_t wanted_size(std::uint32_t threads, const ImplicitTask& member, const Icv& icv) {
  if (member.active_level >= icv.max_active_levels || Job::current() == nullptr) return 1;
  return std::min(threads == 0 ? icv.threads : threads, icv.thread_limit);
}

// With dyn-var, a team inside a rank has no more threads than the rank has left.
std::uint32_t dynamic_size(const Job& job, std::uint32_t size) {
  const std::uint32_t all = job.team.threads().on(job.self), busy = job.pool.busy() + 1;
  return std::min(size, all > busy ? all - busy + 1 : 1);
}

// Without binding, the clause has no effect.
ProcBind bind_of(const RegionRequest& request, const Job& job, std::uint32_t level) {
  const ProcBind bind = job.environment.bind_at(level);
  return bind == ProcBind::no || request.bind == ProcBind::no ? bind : request.bind;
}

// A smaller team over the ranks: where its members may open teams of their own, they are spread over the
// ranks.
Spacing spacing_of(ProcBind bind, const Icv& icv) {
  switch (bind) {
    case ProcBind::primary:
      return Spacing::first;
    case ProcBind::close:
      return Spacing::close;
    case ProcBind::spread:
      return Spacing::spread;
    case ProcBind::no:
    case ProcBind::yes:
      break;
  }
  return icv.max_active_levels > 1 ? Spacing::spread : Spacing::close;
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

runtime::RegionCode code_of(const RegionRequest& request) {
  if (request.code != 0) return {request.code, request.arguments, runtime::RegionCode::Passes::words};
  return {reinterpret_cast<std::uintptr_t>(request.function), request.data,
          runtime::RegionCode::Passes::address};
}

// Tells the tool of a region whose size is known now.
void note_region(ImplicitTask& task, const Region& region, const RegionRequest& request, const Icv& icv) {
  task.region_note = events::region_begins(request.threads == 0 ? icv.threads : request.threads, region.size,
                                           region.call_site);
}

// Starts the members of this rank, and announces the region to other ranks. `task`: of the thread that opens
// it.
[[gnu::always_inline]] inline void open_team(Job& job, const Region& region, const RegionRequest& request,
                                             ImplicitTask& task) {
  Team& team = job.team;
  team.open(region, nullptr);
  team.note = task.region_note;
  job.crew.reserve(team.members_here());
  if (job.ranks > 1) {
    if (job.before_region != nullptr) job.before_region();
    runtime::Synchronization& synchronization = job.runtime.synchronization();
    StoreBound stores = synchronization.stores_of(code_of(request), __builtin_frame_address(0));
    if (events::tool_is_of_program()) stores = {};  // it stores, too
    runtime::BarrierPayload payload = encode_fork(region, stores, job.environment.initial, task.details);
    if (has_details(payload)) note_stack(__builtin_frame_address(0));  // `task` may be in the caller's frame
    synchronization.barrier(payload);
    synchronization.begin_region(stores);
  }
  job.crew.start(team, team.members_here());
}

// Result: null if the region is left with one thread.
Team* open_inner_team(Job& job, Region& region, const RegionRequest& request, ImplicitTask& task,
                      ImplicitTask& opener, const Icv& icv) {
  if (icv.dynamic) region.size = dynamic_size(job, region.size);
  const std::uint32_t counted = opener.contention->take(region.size - 1, icv.thread_limit);
  region.size = counted + 1;
  note_region(task, region, request, icv);
  if (region.size == 1) return nullptr;
  InnerTeam& inner = job.inner_teams.take(job.runtime);
  inner.counted = counted;
  region.loops = inner.loops;
  region.singles = inner.singles;
  inner.team.open(region, &opener);
  inner.team.note = task.region_note;
  inner.crew.reserve(region.size);
  inner.crew.start(inner.team, region.size);
  return &inner.team;
}

void close_inner_team(Job& job, InnerTeam& inner, ImplicitTask& task) {
  inner.loops = task.loops;
  inner.singles = task.singles;
  task.contention->give_back(inner.counted, task.parent->icv.thread_limit);
  job.inner_teams.give_back(inner);
}

// The rank's first thread has ended its part: the members' tasks end, then the ranks meet.
void join_team(Job& job, const ImplicitTask& task) {
  note_stack(__builtin_frame_address(0));
  Team& team = *task.team;
  const events::SyncScope end(events::Sync::end_of_region);
  const runtime::Waiting wait(runtime::Wait::join);
  run_tasks_until(*task.seat, nullptr, [&] { return team.crew.are_done(team.members_here()); });
  run_tasks_to_the_end(*task.seat);
  team.join();
  if (team.inner == nullptr) job.runtime.synchronization().end_region();
}

// `end`(task) ends the part.
template <class End>
void run_member(Team& team, std::uint32_t index, End end) {
  MUSUBI_CHECK(team.is_open());
  const Region region = team.region();
  if (index >= team.members_kept()) {
    os::set_floating_point_modes(region.modes);
    if (region.inherited != nullptr) os::set_thread_state(region.inherited->state, region.inherited->parts);
  }
  ImplicitTask task;
  task.region_note = team.note;
  enter(task, region, &team, team.first_here() + index);
  run_code(task, region.function, region.data, region.program_code(), region.reductions);
  end_constructs(task);
  free_construct_memory(task);
  end(task);
  leave(task);
}

}  // namespace

void run_worker(Team& team, std::uint32_t index, Pool::Worker& worker) {
  run_member(team, index, [&](const ImplicitTask& task) {
    const runtime::Waiting wait(runtime::Wait::region);
    runtime::note_team(task.outer->number, 0);  // the thread is not missing any more
    TaskSeat& seat = *task.seat;
    const std::uint32_t opening = seat.arena->opening();
    const events::SyncScope end(events::Sync::end_of_region);
    worker.rest(seat.arena->bell(), [&](auto over) { help_until(seat, opening, over); });
  });
}

void serve_region(Job& job, const runtime::BarrierPayload& fork) {
  Team& team = job.team;
  team.open(decode_fork(fork, job.environment.initial), nullptr);
  const std::uint32_t members = team.members_here();
  if (members == 0) {
    team.attend();
    return team.close();
  }
  events::start_tool();  // before there are threads that it should know
  job.crew.reserve(members);
  job.runtime.synchronization().begin_region(team.region().stores());
  team.note = events::region_begins(team.region().size, team.region().size, team.region().call_site);
  job.crew.start(team, members);
  run_member(team, 0, [&](const ImplicitTask& task) { join_team(job, task); });
  team.close();
  events::region_ends(team.note);
}

bool opens_over_ranks(const Job& job, const ImplicitTask& member) {
  return this_thread().forks && member.active_level == 0 && !job.team.is_open();
}

std::uint32_t team_size_max(std::uint32_t threads) {
  return wanted_size(threads, implicit_task(), current_task().icv);
}

[[gnu::noinline]] void begin_parallel(const RegionRequest& request, ImplicitTask& task) {
  Job::refuse_if_left();
  ImplicitTask& outer = implicit_task();
  const Icv& icv = this_thread().task->icv;
  Region region;
  region.function = request.function;
  region.data = request.data;
  region.code = request.code;
  region.size = wanted_size(request.threads, outer, icv);
  region.level = outer.level + 1;
  region.icv = icv;
  region.loops = outer.loops;
  region.singles = outer.singles;
  region.loop = request.loop;
  region.reductions = request.reductions;
  region.call_site = events::call_site();
  if (Job* const job = Job::current()) {
    const auto& levels = job->environment.threads_of_levels;
    if (region.level < levels.size()) region.icv.threads = levels[region.level];
    region.bind = bind_of(request, *job, outer.level);
  }
  if (region.size == 1) {
    note_region(task, region, request, icv);
    return enter(task, region, nullptr, 0);
  }
  region.modes = os::floating_point_modes();
  Job& job = *Job::current();
  if (!opens_over_ranks(job, outer)) {
    end_own_single(outer);
    Team* const team = open_inner_team(job, region, request, task, outer, icv);
    return enter(task, region, team, 0);
  }
  region.spacing = request.spacing.value_or(spacing_of(region.bind, icv));
  if (region.size > job.team.region().size) region.inherited = inherited_from_here(job);
  note_region(task, region, request, icv);
  job.contention.take(region.size - 1, icv.thread_limit);
  open_team(job, region, request, task);
  enter(task, region, &job.team, 0);
}

void end_parallel() {
  ImplicitTask& task = implicit_task();
  end_constructs(task);
  if (Team* const team = task.team) {
    Job& job = *Job::current();
    join_team(job, task);
    forget_cancellation(task);
    team->close();
    if (team->inner != nullptr) {
      close_inner_team(job, *team->inner, task);
    } else {
      job.contention.give_back(task.size - 1, task.parent->icv.thread_limit);
      task.outer->loops = task.loops;
      task.outer->singles = task.singles;
    }
  }
  leave(task);
  events::region_ends(task.region_note);
}

std::uint32_t parallel(const RegionRequest& request) {
  ImplicitTask task;
  note_stack(__builtin_frame_address(0));
  begin_parallel(request, task);
  const std::uint32_t size = task.size;
  run_code(task, request.function, request.data, code_of(request).address, request.reductions);
  note_stack(__builtin_frame_address(0));
  end_parallel();
  return size;
}

InitialTaskScope::InitialTaskScope() {
  ImplicitTask& around = implicit_task();
  task_.outer = task_.ancestor = &around;
  task_.contention = &contention_;
  task_.partition = around.partition;
  task_.place = around.place;
  task_.parent = &current_task();
  task_.icv = task_.parent->icv;
  task_.loops = around.loops;
  task_.singles = around.singles;
  this_thread().task = this_thread().implicit = &task_;
}

InitialTaskScope::~InitialTaskScope() {
  leave_seat(task_);
  task_.outer->loops = task_.loops;
  task_.outer->singles = task_.singles;
  this_thread().implicit = task_.outer;
  this_thread().task = task_.parent;
}

}  // namespace musubi::omp
