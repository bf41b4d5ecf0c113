// The state of OpenMP in a process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "omp/contention_group.h"
#include "omp/icv.h"
#include "omp/inner_teams.h"
#include "omp/locks.h"
#include "omp/open_singles.h"
#include "omp/places.h"
#include "omp/pool.h"
#include "omp/process.h"
#include "omp/team.h"
#include "omp/team_words.h"
#include "omp/travelling_tasks.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

struct Job {
  explicit Job(runtime::Runtime& runtime_of_process);

  // Null before start(): the process is then a team of one, without a runtime.
  static Job* current() noexcept { return current_; }
  // In a child made by fork, which has no job: does not return.
  static void refuse_if_left() {
    if (refusal_ != nullptr) refusal_();
  }
  // For operations that need a runtime: ends the process with a line that names `construct` if there is none.
  static Job& require(const char* construct) {
    if (current_ == nullptr) refuse_outside(construct);
    return *current_;
  }

  // The control variables of a thread outside all regions whose teams have threads of this rank only.
  Icv icv_of_rank() const {
    Icv icv = environment.initial;
    if (environment.threads_of_levels.empty()) icv.threads = std::min(icv.threads, team.threads().on(self));
    return icv;
  }

  runtime::Runtime& runtime;
  const std::uint32_t ranks;
  const std::uint32_t self;
  Environment environment;
  bool stacks_hold_storage = true;   // the program has thread-local storage, which is above its frames
  std::int64_t clock_offset_ns = 0;  // from this host's clock to rank 0's
  TeamWords words;
  Locks locks;
  Pool pool;
  Crew crew;
  Team team;                   // over the ranks
  TravellingTasks travelling;  // of that team
  InnerTeams inner_teams;
  Places places;
  ContentionGroup contention;               // of the thread that runs main
  const std::size_t nested_task_bytes_max;  // limit of stack use by nested tasks; further ones are postponed
  UnreleasedSingles unreleased_singles;
  void (*before_region)() = nullptr;    // process.h
  os::ThreadState state_at_start;       // of the thread that runs main
  InheritedState* inherited = nullptr;  // null: main is unchanged
  std::atomic<std::uint64_t> marks{0};  // of tasks and threads, allocated on this rank so far

 private:
  [[noreturn]] static void refuse_outside(const char* construct);
  friend void start(runtime::Runtime&, const ProgramTraits&, std::int64_t);
  friend void leave_job(void (*)()) noexcept;

  // The process's one job. Writable and global, like the thread state, because the OpenMP interfaces carry no
  // handle. Written once, before there are threads, and never freed, since threads may wait in it until the
  // very end.
  static Job* current_;
  static void (*refusal_)();
};

// Ends the job as a failure of the program: one line that names the cause and the remedy.
[[noreturn]] void end_job(runtime::Runtime& runtime, std::string_view reason);
// The same because the program asked for an unsupported feature: one line that names it.
[[noreturn]] void unsupported(const char* construct, const char* remedy);

}  // namespace musubi::omp
