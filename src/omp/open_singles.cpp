#include "omp/open_singles.h"

#include "omp/backoff.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/worksharing.h"
#include "os/clock.h"

namespace musubi::omp {
namespace {

// Longer than the time slices that other programs may take from the thread that runs the single.
constexpr std::uint64_t patience_ns = 1'000'000'000;

std::size_t place_of(std::uint32_t number) {
  return number % words::open_single_count;
}

// Whether the word holds this number or a later one. Numbers wrap around.
bool has_reached(std::uint64_t word, std::uint32_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(word) - number) >= 0;
}

bool has_ended(std::uint32_t number) {
  return has_reached(Job::current()->words.load(Rank{0}, words::ended_singles + place_of(number)), number);
}

// REQUIRES: the single's writes have been released.
void announce(std::uint32_t number) {
  Job::current()->words.store(Rank{0}, words::ended_singles + place_of(number), number);
}

void release_and_announce(ImplicitTask& task) {
  Job::current()->runtime.synchronization().release(channel_of(words::ended_singles));
  task.runs_single = false;
  announce(task.own_single);
}

// Waiting threads register: only then a release is worth its cost.
bool somebody_waits(std::uint32_t number) {
  return Job::current()->words.load(Rank{0}, words::awaited_singles + place_of(number)) == number;
}

void wait_for_others(ImplicitTask& task) {
  Job& job = *Job::current();
  for (; task.first_awaited != task.last_awaited; ++task.first_awaited) {
    const std::uint32_t number = task.first_awaited + 1;
    if (has_ended(number)) continue;
    job.words.store(Rank{0}, words::awaited_singles + place_of(number), number);
    const std::uint64_t begin = os::monotonic_ns();
    Backoff backoff(runtime::Wait::single, number);
    job.unreleased_singles.release_awaited();
    while (!has_ended(number) && os::monotonic_ns() - begin < patience_ns) {
      backoff.pause();
      job.unreleased_singles.release_awaited();
    }
  }
}

void* own_construct_memory(ImplicitTask& task, std::size_t bytes) {
  constexpr std::size_t header = 64;  // keeps the memory after it aligned
  auto* block = static_cast<ConstructMemory*>(allocate_shared_zeroed(header, header + bytes));
  block->next = task.memory;
  task.memory = block;
  return reinterpret_cast<std::byte*>(block) + header;
}

}  // namespace

void note_single(ImplicitTask& task, std::uint32_t number, bool runs_it) {
  if (task.team->ranks == 1) return;
  if (task.runs_single) release_and_announce(task);
  if (runs_it) {
    task.runs_single = true;
    task.own_single = number;
    return;
  }
  const bool none = task.first_awaited == task.last_awaited;
  // A word holds one number at a time; older singles have long ended.
  if (none || number - task.first_awaited > words::open_single_count) task.first_awaited = number - 1;
  task.last_awaited = number;
}

void end_own_single(ImplicitTask& task) {
  if (!task.runs_single) return;
  if (task.team == nullptr || somebody_waits(task.own_single)) return release_and_announce(task);
  task.runs_single = false;
  Job::current()->unreleased_singles.add(task.own_single);
}

void UnreleasedSingles::add(std::uint32_t number) noexcept {
  std::atomic<std::uint64_t>& place = numbers_[place_of(number)];
  std::uint64_t seen = place.load();
  while ((seen == 0 || !has_reached(seen, number)) && !place.compare_exchange_weak(seen, number | is_set)) {
  }
  any_.store(true);
}

void UnreleasedSingles::on_released() noexcept {
  if (!any_.exchange(false)) return;
  for (std::atomic<std::uint64_t>& place : numbers_) {
    if (const std::uint64_t number = place.exchange(0)) announce(static_cast<std::uint32_t>(number));
  }
}

void UnreleasedSingles::release_awaited() {
  if (!any_.load()) return;
  std::array<std::uint64_t, words::open_single_count> awaited{};
  std::size_t count = 0;
  for (std::atomic<std::uint64_t>& place : numbers_) {
    std::uint64_t number = place.load();
    if (number == 0 || !somebody_waits(static_cast<std::uint32_t>(number))) continue;
    if (place.compare_exchange_strong(number, 0)) awaited[count++] = number;
  }
  if (count == 0) return;
  Job::current()->runtime.synchronization().release(channel_of(words::ended_singles));
  for (std::size_t i = 0; i < count; ++i) announce(static_cast<std::uint32_t>(awaited[i]));
}

void settle_singles(Before before) {
  ImplicitTask& task = implicit_task();
  if (Job* const job = Job::current()) job->unreleased_singles.release_awaited();
  if (!task.runs_single && task.first_awaited == task.last_awaited) return;
  if (task.runs_single) release_and_announce(task);
  wait_for_others(task);
  if (before == Before::lock)
    Job::current()->runtime.synchronization().acquire(channel_of(words::ended_singles));
}

bool single_begin(ImplicitTask& task) {
  const bool alone = task.team == nullptr;
  const bool runs_it = alone || task.team->claim_single(++task.singles);
  if (!alone) note_single(task, task.singles, runs_it);
  events::work_begins(runs_it ? events::Work::single_executor : events::Work::single_other, 1);
  if (!runs_it) events::work_ends();
  return runs_it;
}

void* broadcast(ImplicitTask& task, bool sender, void* pointer) {
  if (task.team == nullptr) return pointer;
  Team& team = *task.team;
  Broadcast& turn = team.broadcast_of(task.broadcasts++);
  if (sender) {
    const auto value = reinterpret_cast<std::uintptr_t>(pointer);
    turn.value.store(value, std::memory_order_relaxed);
    turn.sent.store(true, std::memory_order_relaxed);
    if (team.self != 0) team.words.store(Rank{0}, turn.word, value);
  }
  if (!barrier(&turn, events::Sync::internal)) return sender ? pointer : nullptr;
  return reinterpret_cast<void*>(turn.value.load(std::memory_order_relaxed));
}

void* broadcast_or_end(ImplicitTask& task, bool sender, void* pointer) {
  void* const received = broadcast(task, sender, pointer);
  if (received == nullptr && task.team != nullptr) {
    end_job(
        Job::current()->runtime,
        "a region was cancelled while a thread of it waited for the values of `single copyprivate`: do not "
        "cancel a region before all its threads have met its single constructs");
  }
  return received;
}

void* construct_memory(ImplicitTask& task, std::size_t bytes) {
  const bool sender = single_begin(task);
  void* memory = sender ? own_construct_memory(task, bytes) : nullptr;
  memory = broadcast(task, sender, memory);
  // The results of a cancelled region's threads are unused: any memory will do.
  return memory != nullptr ? memory : own_construct_memory(task, bytes);
}

void free_construct_memory(ImplicitTask& task) {
  while (ConstructMemory* block = task.memory) {
    task.memory = block->next;
    free_shared(block);
  }
}

}  // namespace musubi::omp
