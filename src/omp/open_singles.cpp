#include "omp/open_singles.h"

#include "omp/backoff.h"
#include "omp/job.h"
#include "os/clock.h"

namespace musubi::omp {
namespace {

// Longer than the time slices that other programs may take from the thread that runs the single.
constexpr std::uint64_t patience_ns = 1'000'000'000;

std::size_t place_of(std::uint32_t number) {
  return number % words::open_single_count;
}

// Whether a later number stands in the word, or this one. Numbers wrap around.
bool has_reached(std::uint64_t word, std::uint32_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(word) - number) >= 0;
}

bool has_ended(std::uint32_t number) {
  return has_reached(Job::current()->words.load(Rank{0}, words::ended_singles + place_of(number)), number);
}

// What the single wrote has been released.
void announce(ImplicitTask& task) {
  task.runs_single = false;
  Job::current()->words.store(Rank{0}, words::ended_singles + place_of(task.own_single), task.own_single);
}

// Who waits says so: only then a release is worth its price.
bool somebody_waits(const ImplicitTask& task) {
  const std::uint32_t number = task.own_single;
  return Job::current()->words.load(Rank{0}, words::awaited_singles + place_of(number)) == number;
}

void wait_for_others(ImplicitTask& task) {
  Job& job = *Job::current();
  for (; task.first_awaited != task.last_awaited; ++task.first_awaited) {
    const std::uint32_t number = task.first_awaited + 1;
    if (has_ended(number)) continue;
    job.words.store(Rank{0}, words::awaited_singles + place_of(number), number);
    const std::uint64_t begin = os::monotonic_ns();
    Backoff backoff;
    while (!has_ended(number) && os::monotonic_ns() - begin < patience_ns) backoff.pause();
  }
}

}  // namespace

void note_single(ImplicitTask& task, std::uint32_t number, bool runs_it) {
  Job& job = *Job::current();
  if (job.ranks == 1) return;
  if (task.runs_single) {
    job.runtime.release();
    announce(task);
  }
  if (runs_it) {
    task.runs_single = true;
    task.own_single = number;
    return;
  }
  const bool none = task.first_awaited == task.last_awaited;
  // A word tells of one number at a time; older ones have long ended.
  if (none || number - task.first_awaited > words::open_single_count) task.first_awaited = number - 1;
  task.last_awaited = number;
}

void end_own_single(ImplicitTask& task) {
  if (!task.runs_single) return;
  if (somebody_waits(task)) Job::current()->runtime.release();
  announce(task);
}

void settle_singles(Before before) {
  ImplicitTask& task = current_task();
  if (!task.runs_single && task.first_awaited == task.last_awaited) return;
  if (task.runs_single) {
    Job::current()->runtime.release();
    announce(task);
  }
  wait_for_others(task);
  if (before == Before::lock) Job::current()->runtime.acquire();
}

}  // namespace musubi::omp
