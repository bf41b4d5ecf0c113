#include "omp/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "config/environment.h"
#include "omp/parallel.h"
#include "omp/pause.h"
#include "omp/process.h"
#include "omp/shared_memory.h"
#include "omp/task_events.h"
#include "omp/thread.h"
#include "os/binding.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {
namespace {

void print(const std::string& text) {
  // Not stdio: the program's own buffers may be shared memory.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Job* Job::current_ = nullptr;
void (*Job::refusal_)() = nullptr;

Job::Job(runtime::Runtime& runtime_of_process)
    : runtime(runtime_of_process),
      ranks(runtime.ranks()),
      self(runtime.self().value),
      words(runtime),
      locks(runtime),
      pool(runtime, &run_worker),
      crew(pool),
      team(runtime, words, crew, nullptr),
      travelling(runtime, team.tasks()),
      inner_teams(pool),
      places(runtime),
      contention(words),
      nested_task_bytes_max(std::min<std::size_t>(1 << 20, runtime.settings().stack_bytes / 4)) {}

void Job::refuse_outside(const char* construct) {
  refuse_if_left();
  print(std::string("musubi: ") + construct +
        " was used before the job started: start the program with musubi run\n");
  std::abort();
}

void end_job(runtime::Runtime& runtime, std::string_view reason) {
  runtime.ending().abort(1, reason);
  __builtin_unreachable();  // gcc forgets that a virtual function does not return
}

void unsupported(const char* construct, const char* remedy) {
  const std::string line = std::string(construct) + " is not supported: " + remedy;
  if (const Job* job = Job::current()) end_job(job->runtime, line);
  print("musubi: " + line + "\n");
  std::abort();
}

void start(runtime::Runtime& runtime, const ProgramTraits& program, std::int64_t clock_offset_ns) {
  auto* job = make_private<Job>(runtime);
  job->stacks_hold_storage = program.stacks_hold_storage;
  job->clock_offset_ns = clock_offset_ns;
  runtime.synchronization().set_release_listener(&job->unreleased_singles);
  const bool speaks = job->self == 0;
  serve_task_events(runtime);
  job->environment = read_environment(job->team.threads().all(), &config::program_variable,
                                      [speaks](const std::string& line) {
                                        if (speaks) print("musubi: " + line + "\n");
                                      });
  job->places.find(job->environment);
  // A cancelled group must reach the tasks that have left: with cancellation tasks stay where they are made.
  const bool may_travel = program.makes_tasks && job->ranks > 1 && !job->environment.cancellation;
  if (may_travel && job->travelling.begin()) {
    job->team.travelling = &job->travelling;
    job->team.tasks().other_ranks = &job->travelling;
  }
  if (speaks && job->environment.stack_bytes > runtime.settings().stack_bytes) {
    print("musubi: OMP_STACKSIZE asks for more than the stacks of this job have: set MUSUBI_STACK_BYTES=" +
          std::to_string(job->environment.stack_bytes) + "\n");
  }
  if (speaks && job->environment.display != Environment::Display::no) {
    print(describe(job->environment, job->environment.display == Environment::Display::verbose));
  }
  Job::current_ = job;
}

void set_before_region(void (*tell)()) noexcept {
  Job::require("omp::set_before_region").before_region = tell;
}

void leave_job(void (*refuse)()) noexcept {
  events::heard = false;
  events::start_of_tool = nullptr;
  Job::current_ = nullptr;
  Job::refusal_ = refuse;
}

namespace {

void begin_main_thread(const Job& job, const runtime::ThreadStack& stack, const void* first_frame) {
  adopt_stack(stack, first_frame);
  Thread& thread = this_thread();
  thread.forks = job.self == 0;
  initialise_thread(thread);
  runtime::name_thread(runtime::ThreadRole::main, 0);
}

}  // namespace

void adopt_main_thread(const runtime::ThreadStack& stack, const void* first_frame) {
  Job& job = Job::require("omp::adopt_main_thread");
  os::note_bound_thread();
  begin_main_thread(job, stack, first_frame);
  job.places.bind_first_thread();
  job.state_at_start = os::thread_state();
  job.runtime.threads().set_count(job.team.threads().on(job.self));
  job.runtime.synchronization().end_region();
}

void succeed_main_thread(const runtime::ThreadStack& stack, const void* first_frame) {
  Job& job = Job::require("omp::succeed_main_thread");
  begin_main_thread(job, stack, first_frame);
  end_pause_here(job);
}

InheritedState state_of_this_thread() noexcept {
  const os::ThreadState now = os::thread_state();
  return {now, os::differences(now, Job::require("omp::state_of_this_thread").state_at_start)};
}

void take_over_state(const InheritedState& inherited) noexcept {
  os::set_thread_state(Job::require("omp::take_over_state").state_at_start, ~os::ThreadStateParts{0});
  os::set_thread_state(inherited.state, inherited.parts);
}

namespace {

void end_tool(Job& job) {
  if (!events::are_heard()) return;
  job.crew.tell_ends();
  events::finish();
}

}  // namespace

std::optional<ExitDecision> worker_main() {
  Job& job = Job::require("omp::worker_main");
  MUSUBI_CHECK(job.self != 0);
  while (true) {
    runtime::BarrierPayload payload{};
    {
      const runtime::Waiting wait(runtime::Wait::region);
      job.runtime.synchronization().barrier(payload);
    }
    if (kind_of(payload) == BarrierKind::exit) {
      end_tool(job);
      return ExitDecision{status_of(payload)};
    }
    if (kind_of(payload) == BarrierKind::pause) {
      begin_pause_here(job);
      return {};
    }
    MUSUBI_CHECK(kind_of(payload) == BarrierKind::fork, "kind %u", static_cast<unsigned>(kind_of(payload)));
    serve_region(job, payload);
  }
}

void start_tool() {
  events::start_tool();
}

bool is_region_open() noexcept {
  const Job* const job = Job::current();
  return job != nullptr && job->team.is_open();
}

bool shut_down(int status) {
  Job& job = Job::require("omp::shut_down");
  MUSUBI_CHECK(job.self == 0);
  if (job.team.is_open()) {
    events::finish();
    return false;
  }
  end_tool(job);
  if (job.ranks == 1) return true;
  runtime::BarrierPayload payload = encode(BarrierKind::exit, status);
  job.runtime.synchronization().barrier(payload);
  return true;
}

}  // namespace musubi::omp
