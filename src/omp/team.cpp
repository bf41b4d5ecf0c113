#include "omp/team.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config/environment.h"
#include "omp/affinity.h"
#include "omp/backoff.h"
#include "omp/cancellation.h"
#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/private_memory.h"
#include "omp/tasks.h"
#include "omp/worksharing.h"
#include "runtime/tracing.h"
#include "runtime/waiting.h"

namespace musubi::omp {
namespace {

// The process's one job. Writable and global for the same reason as the thread state: the OpenMP interfaces
// carry no handle. Written once, before there are threads, and never freed, since threads may wait in it
// until the very end.
Job* job_of_process = nullptr;
// The same in a child made by fork, where there is no job any more.
void (*refusal_of_process)() = nullptr;

void print(const std::string& text) {
  // Not stdio: the program's own buffers may be shared memory.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// The calling thread's part of the active region; `index` counts the members of this rank.
void enter(ImplicitTask& task, const Region& region, std::uint32_t number) {
  Thread& thread = this_thread();
  task.outer = &current_task();
  task.size = region.size;
  task.number = number;
  task.level = region.level;
  task.active_level = region.size > 1 ? task.outer->active_level + 1 : task.outer->active_level;
  task.icv = region.icv;
  task.loops = region.loops;
  task.singles = region.singles;
  thread.task = &task;
  if (job_of_process != nullptr && job_of_process->environment.display_affinity)
    display_affinity_when_changed();
  runtime::note_team(number, region.size);
  runtime::note_call(reinterpret_cast<const char*>(region.function) + 1);  // until it calls
  if (region.loop != nullptr) loop_begin(task, *region.loop);
}

void leave(ImplicitTask& task) {
  end_own_single(task);
  if (cancellation_enabled()) loop_end(task);
  free_construct_memory(task);
  this_thread().task = task.outer;
  runtime::note_team(task.outer->number, task.outer->size > 1 ? task.outer->size : 0);
}

// A thread that leaves a cancelled region may have open groups: down to the region's own one, if any.
void leave_groups(ImplicitTask& task, const TaskGroup* own) {
  while (task.group != own) group_end();
}

void run_member(std::uint32_t index) {
  Job& job = *Job::current();
  const Region region = job.region;
  const Placement placement(region.size, job.ranks, job.threads_per_rank);
  ImplicitTask task;
  enter(task, region, placement.first_on(job.self) + index);
  TaskGroup group{nullptr, nullptr, true};
  if (region.reductions) {
    group.reductions = *static_cast<std::uintptr_t**>(region.data);
    task.group = &group;
  }
  {
    const runtime::Traced traced(runtime::Event::parallel_region,
                                 reinterpret_cast<std::uintptr_t>(region.function));
    region.function(region.data);
  }
  leave_groups(task, region.reductions ? &group : nullptr);
  leave(task);
}

[[noreturn]] void report_disagreement(Job& job) {
  end_job(job.runtime,
          "the threads of a team met different barriers (one its end, another a barrier inside the region): "
          "every thread of a team must meet the same barriers in the same order");
}

// A barrier inside the region, of all ranks.
void meet_inside(Job& job, Broadcast* broadcast) {
  const bool sent = broadcast != nullptr && broadcast->sent.exchange(false, std::memory_order_relaxed);
  if (job.ranks == 1) return;
  runtime::BarrierPayload payload = encode(BarrierKind::inside_region);
  if (sent) {
    payload[1] = broadcast->value.load(std::memory_order_relaxed);
    payload[2] = 1;
  }
  job.runtime.synchronization().barrier(payload);
  if (kind_of(payload) != BarrierKind::inside_region) report_disagreement(job);
  if (broadcast == nullptr || sent) return;
  const bool came_from_first = payload[2] != 0;
  broadcast->value.store(came_from_first ? payload[1] : job.words.load(Rank{0}, broadcast->word),
                         std::memory_order_relaxed);
}

// The end of the region. In one that was cancelled, rank 0 meets all ranks once more before, so that none
// waits in a barrier inside.
void meet_at_join(Job& job, ImplicitTask& task) {
  if (cancellation_enabled()) {
    job.pool.barrier().reset();
    for (Broadcast& broadcast : job.broadcasts) broadcast.sent.store(false, std::memory_order_relaxed);
    if (job.self == 0 && region_is_cancelled(task)) meet_inside(job, nullptr);
  }
  while (job.ranks > 1) {
    runtime::BarrierPayload payload = encode(BarrierKind::join);
    job.runtime.synchronization().barrier(payload);
    if (kind_of(payload) == BarrierKind::join) return;
    if (kind_of(payload) != BarrierKind::inside_region || !region_is_cancelled(task))
      report_disagreement(job);
  }
}

std::uint32_t members_here(const Job& job) {
  return Placement(job.region.size, job.ranks, job.threads_per_rank).members_on(job.self);
}

void begin_code(Job& job) {
  job.runtime.synchronization().begin_region(reinterpret_cast<std::uintptr_t>(job.region.function),
                                             job.region.data);
}

// A rank other than 0 serves the region that was just announced, up to and including its join.
void serve_region(Job& job) {
  const std::uint32_t members = members_here(job);
  if (members == 0) {
    const runtime::Waiting wait(runtime::Wait::region);
    while (true) {
      runtime::BarrierPayload payload{};
      job.runtime.synchronization().barrier(payload);
      if (kind_of(payload) == BarrierKind::join) return;
      if (kind_of(payload) != BarrierKind::inside_region) report_disagreement(job);
    }
  }
  job.pool.reserve(members);
  begin_code(job);
  job.pool.start(members);
  run_member(0);
  note_stack(__builtin_frame_address(0));
  const runtime::Waiting wait(runtime::Wait::join);
  job.pool.finish(members);
  ImplicitTask of_region;
  of_region.size = job.region.size;
  meet_at_join(job, of_region);
  job.runtime.synchronization().end_region();
}

bool opens_team(const ImplicitTask& task) {
  return job_of_process != nullptr && this_thread().forks && task.active_level == 0 &&
         task.icv.max_active_levels > 0 && !job_of_process->region_active.load(std::memory_order_relaxed);
}

}  // namespace

Job::Job(runtime::Runtime& runtime_of_process)
    : runtime(runtime_of_process),
      ranks(runtime.ranks()),
      self(runtime.self().value),
      threads_per_rank(static_cast<std::uint32_t>(runtime.settings().threads_per_rank)),
      words(runtime),
      locks(runtime, words),
      pool(runtime, &run_member) {}

Job* Job::current() noexcept {
  return job_of_process;
}

Job& Job::require(const char* construct) {
  if (refusal_of_process != nullptr) refusal_of_process();
  if (job_of_process == nullptr) {
    print(std::string("musubi: ") + construct +
          " was used before the job started: start the program with musubi run\n");
    std::abort();
  }
  return *job_of_process;
}

void end_job(runtime::Runtime& runtime, std::string_view reason) {
  runtime.ending().abort(1, reason);
  __builtin_unreachable();  // gcc forgets that a virtual function does not return
}

void unsupported(const char* construct, const char* remedy) {
  const std::string line = std::string(construct) + " is not supported: " + remedy;
  if (job_of_process != nullptr) end_job(job_of_process->runtime, line);
  print("musubi: " + line + "\n");
  std::abort();
}

void start(runtime::Runtime& runtime, bool stacks_hold_storage) {
  auto* job = make_private<Job>(runtime);
  job->stacks_hold_storage = stacks_hold_storage;
  runtime.synchronization().set_release_listener(&job->unreleased_singles);
  const bool speaks = job->self == 0;
  job->environment = read_environment(job->ranks * job->threads_per_rank, &config::environment_variable,
                                      [speaks](const std::string& line) {
                                        if (speaks) print("musubi: " + line + "\n");
                                      });
  if (speaks && job->environment.stack_bytes > runtime.settings().stack_bytes) {
    print("musubi: OMP_STACKSIZE asks for more than the stacks of this job have: set MUSUBI_STACK_BYTES=" +
          std::to_string(job->environment.stack_bytes) + "\n");
  }
  if (speaks && job->environment.display != Environment::Display::no) {
    print(describe(job->environment, job->environment.display == Environment::Display::verbose));
  }
  job_of_process = job;
}

void leave_job(void (*refuse)()) noexcept {
  job_of_process = nullptr;
  refusal_of_process = refuse;
}

void adopt_main_thread(const runtime::ThreadStack& stack, const void* first_frame) {
  adopt_stack(stack, first_frame);
  Thread& thread = this_thread();
  initialise_thread(thread);
  runtime::name_thread(runtime::ThreadRole::main, 0);
  Job& job = Job::require("omp::adopt_main_thread");
  thread.forks = job.self == 0;
  job.runtime.threads().set_count(job.threads_per_rank);
}

ExitDecision worker_main() {
  Job& job = Job::require("omp::worker_main");
  MUSUBI_CHECK(job.self != 0);
  while (true) {
    runtime::BarrierPayload payload{};
    {
      const runtime::Waiting wait(runtime::Wait::region);
      job.runtime.synchronization().barrier(payload);
    }
    if (kind_of(payload) == BarrierKind::exit) return ExitDecision{status_of(payload)};
    MUSUBI_CHECK(kind_of(payload) == BarrierKind::fork, "kind %u", static_cast<unsigned>(kind_of(payload)));
    job.region = decode_fork(payload, job.environment.initial);
    job.region_cancelled.store(false, std::memory_order_relaxed);
    job.region_active.store(true, std::memory_order_relaxed);
    serve_region(job);
    job.region_active.store(false, std::memory_order_relaxed);
  }
}

bool shut_down(int status) {
  Job& job = Job::require("omp::shut_down");
  MUSUBI_CHECK(job.self == 0);
  if (job.region_active.load(std::memory_order_relaxed)) return false;
  if (job.ranks == 1) return true;
  runtime::BarrierPayload payload = encode(BarrierKind::exit, status);
  job.runtime.synchronization().barrier(payload);
  return true;
}

std::uint32_t team_size(std::uint32_t threads) {
  const ImplicitTask& task = current_task();
  if (!opens_team(task)) return 1;
  return std::min(threads == 0 ? task.icv.threads : threads, task.icv.thread_limit);
}

[[gnu::noinline]] void begin_parallel(const RegionRequest& request, ImplicitTask& task) {
  if (refusal_of_process != nullptr) refusal_of_process();
  ImplicitTask& outer = current_task();
  Region region;
  region.function = request.function;
  region.data = request.data;
  region.size = team_size(request.threads);
  region.level = outer.level + 1;
  region.icv = outer.icv;
  region.loops = outer.loops;
  region.singles = outer.singles;
  region.loop = request.loop;
  region.reductions = request.reductions;
  if (region.size > 1) {
    Job& job = *Job::current();
    job.region = region;
    const std::uint32_t members = members_here(job);
    job.pool.reserve(members);
    job.region_cancelled.store(false, std::memory_order_relaxed);
    job.region_active.store(true, std::memory_order_relaxed);
    if (job.ranks > 1) {
      runtime::BarrierPayload payload = encode_fork(region, job.environment.initial, task.details);
      if (has_details(payload))
        note_stack(__builtin_frame_address(0));  // `task` may lie in the caller's frame
      job.runtime.synchronization().barrier(payload);
      begin_code(job);
    }
    job.pool.start(members);
  }
  enter(task, region, 0);
}

void end_parallel() {
  ImplicitTask& task = current_task();
  if (task.size > 1) {
    Job& job = *Job::current();
    end_own_single(task);
    if (cancellation_enabled()) loop_end(task);
    const runtime::Waiting wait(runtime::Wait::join);
    job.pool.finish(members_here(job));
    meet_at_join(job, task);
    job.runtime.synchronization().end_region();
    forget_cancellation(task);
    job.region_active.store(false, std::memory_order_relaxed);
    task.outer->loops = task.loops;
    task.outer->singles = task.singles;
  }
  leave(task);
}

std::uint32_t parallel(const RegionRequest& request) {
  ImplicitTask task;
  TaskGroup group{nullptr, nullptr, true};
  note_stack(__builtin_frame_address(0));
  begin_parallel(request, task);
  if (request.reductions) {
    group.reductions = *static_cast<std::uintptr_t**>(request.data);
    task.group = &group;
  }
  const std::uint32_t size = task.size;
  {
    const runtime::Traced traced(runtime::Event::parallel_region,
                                 reinterpret_cast<std::uintptr_t>(request.function));
    request.function(request.data);
  }
  leave_groups(task, request.reductions ? &group : nullptr);
  note_stack(__builtin_frame_address(0));
  end_parallel();
  return size;
}

bool barrier(Broadcast* broadcast) {
  ImplicitTask& task = current_task();
  task.loops_since_barrier = 0;
  if (cancellation_enabled()) ++task.barriers;  // it lies on a stack: what changes there is released
  if (task.size == 1) return true;
  end_own_single(task);
  task.first_awaited = task.last_awaited;
  Job& job = *Job::current();
  const std::uint32_t members = members_here(job);
  const runtime::Waiting wait(runtime::Wait::barrier);
  const runtime::Traced traced(runtime::Event::team_barrier, task.number);
  LocalBarrier& of_rank = job.pool.barrier();
  const auto meet = [&] { meet_inside(job, broadcast); };
  if (!job.environment.cancellation) {
    of_rank.arrive(job.runtime, members, meet);
    return true;
  }
  if (region_is_cancelled(task)) return false;
  Backoff backoff(runtime::Wait::barrier);
  return of_rank.arrive_or_leave(members, meet, [&] {
    backoff.pause();
    return !region_is_cancelled(task);
  });
}

InitialTaskScope::InitialTaskScope() {
  ImplicitTask& around = current_task();
  task_.outer = &around;
  task_.icv = around.icv;
  task_.loops = around.loops;
  task_.singles = around.singles;
  this_thread().task = &task_;
}

InitialTaskScope::~InitialTaskScope() {
  task_.outer->loops = task_.loops;
  task_.outer->singles = task_.singles;
  this_thread().task = task_.outer;
}

}  // namespace musubi::omp
