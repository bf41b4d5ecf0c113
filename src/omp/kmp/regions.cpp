// Parallel regions, and the numbers of threads.
#include "omp/kmp/regions.h"

#include <alloca.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <new>
#include <utility>

#include "omp/entry.h"
#include "omp/events.h"
#include "omp/job.h"
#include "omp/league.h"
#include "omp/parallel.h"
#include "omp/shared_memory.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// Written by the push_ functions, which precede the region that they are for.
thread_local constinit Announced announced{};

using Words = void* const*;

template <std::size_t... I>
void call_with(Microtask microtask, std::int32_t* global, std::int32_t* own, Words words,
               std::index_sequence<I...> /*numbers*/) {
  microtask(global, own, words[I]...);
}

// A function may get more arguments than it takes: a few sizes serve all numbers of them.
constexpr std::array<std::uint32_t, 5> sizes{4, 14, 60, 250, 1000};

std::uint32_t size_for(std::uint32_t count) {
  for (const std::uint32_t size : sizes) {
    if (count <= size) return size;
  }
  unsupported("a parallel region that captures more than 1000 variables",
              "put them into a structure, or into several arrays");
}

void call(Microtask microtask, std::uint32_t size, Words words) {
  std::int32_t global = global_thread(), own = static_cast<std::int32_t>(implicit_task().number);
  events::code_runs(__builtin_frame_address(0));
  switch (size) {
    case sizes[0]:
      return call_with(microtask, &global, &own, words, std::make_index_sequence<sizes[0]>());
    case sizes[1]:
      return call_with(microtask, &global, &own, words, std::make_index_sequence<sizes[1]>());
    case sizes[2]:
      return call_with(microtask, &global, &own, words, std::make_index_sequence<sizes[2]>());
    case sizes[3]:
      return call_with(microtask, &global, &own, words, std::make_index_sequence<sizes[3]>());
    default:
      return call_with(microtask, &global, &own, words, std::make_index_sequence<sizes[4]>());
  }
}

void announce_threads(std::int32_t threads) {
  announced.threads = static_cast<std::uint32_t>(std::max(threads, 0));
}

void announce_teams(std::int32_t teams, std::int32_t thread_limit) {
  announced.teams = static_cast<std::uint32_t>(std::max(teams, 0));
  announced.thread_limit = static_cast<std::uint32_t>(std::max(thread_limit, 0));
}

// A number for each level of nesting: the first is for the next region.
void announce_threads(std::uint32_t levels, const std::int32_t* threads) {
  if (levels != 0 && threads[0] > 0) announce_threads(threads[0]);
}

// The region of a caller that runs its code itself; its task outlives the call.
struct SerialRegion : ImplicitTask {};

void begin_serial_region() {
  take_announced();
  auto* region = new (allocate_shared_zeroed(alignof(SerialRegion), sizeof(SerialRegion))) SerialRegion{};
  begin_parallel({.threads = 1}, *region);
}

void end_serial_region() {
  auto* region = static_cast<SerialRegion*>(&implicit_task());
  end_parallel();
  free_shared(region);
}

}  // namespace

namespace musubi::omp::kmp {

Announced take_announced() {
  return std::exchange(announced, {});
}

GlobalThread global_thread() {
  const ImplicitTask* task = &implicit_task();
  while (task->size == 1 && task->outer != nullptr) task = task->outer;
  return static_cast<GlobalThread>(task->number);
}

std::size_t Captured::bytes_for(std::uint32_t count) {
  return sizeof(Captured) + size_for(count) * sizeof(void*);
}

Captured* Captured::put(void* memory, Microtask microtask, std::uint32_t count, va_list& words) {
  auto* captured = new (memory) Captured{microtask, size_for(count)};
  for (std::uint32_t i = 0; i < captured->size; ++i)
    captured->words()[i] = i < count ? va_arg(words, void*) : nullptr;
  return captured;
}

void Captured::run(void* captured) {
  auto* own = static_cast<Captured*>(captured);
  call(own->microtask, own->size, own->words());
}

[[gnu::noinline]] void run_region(Captured& captured, const Announced& wanted) {
  RegionRequest request{
      .function = &Captured::run, .data = &captured, .threads = wanted.threads, .bind = wanted.bind};
  request.code = reinterpret_cast<std::uintptr_t>(captured.microtask);
  request.arguments = captured.words();
  parallel(request);
}

}  // namespace musubi::omp::kmp

extern "C" {

MUSUBI_EXPORT void __kmpc_fork_call(Place*, std::int32_t count, Microtask microtask, ...) {
  MUSUBI_OMP_ENTRY();
  const auto words = static_cast<std::uint32_t>(count);
  void* memory = alloca(Captured::bytes_for(words));
  va_list list;
  va_start(list, microtask);
  Captured* captured = Captured::put(memory, microtask, words, list);
  va_end(list);
  run_region(*captured, take_announced());
}

// The code takes one word, the address of all that it captures.
MUSUBI_EXPORT void __kmpc_fork_call_if(Place*, std::int32_t /*count*/, Microtask microtask,
                                       std::int32_t condition, void* record) {
  MUSUBI_OMP_ENTRY();
  void* memory = alloca(Captured::bytes_for(1));
  auto* captured = new (memory) Captured{microtask, sizes[0]};
  std::fill_n(captured->words(), sizes[0], nullptr);
  captured->words()[0] = record;
  Announced wanted = take_announced();
  if (condition == 0) wanted.threads = 1;
  run_region(*captured, wanted);
}

MUSUBI_EXPORT void __kmpc_serialized_parallel(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  begin_serial_region();
}
MUSUBI_EXPORT void __kmpc_end_serialized_parallel(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  end_serial_region();
}

MUSUBI_EXPORT void __kmpc_push_num_threads(Place*, GlobalThread, std::int32_t threads) {
  announce_threads(threads);
}
// With `strict` a smaller team ends the program; ours are never smaller, but for nested regions.
MUSUBI_EXPORT void __kmpc_push_num_threads_strict(Place*, GlobalThread, std::int32_t threads,
                                                  std::int32_t /*severity*/, const char* /*message*/) {
  announce_threads(threads);
}
MUSUBI_EXPORT void __kmpc_push_num_threads_list(Place*, GlobalThread, std::uint32_t count,
                                                const std::int32_t* threads) {
  announce_threads(count, threads);
}
MUSUBI_EXPORT void __kmpc_push_num_threads_list_strict(Place*, GlobalThread, std::uint32_t count,
                                                       const std::int32_t* threads, std::int32_t /*severity*/,
                                                       const char* /*message*/) {
  announce_threads(count, threads);
}
MUSUBI_EXPORT void __kmpc_pop_num_threads(Place*, GlobalThread) {}
MUSUBI_EXPORT void __kmpc_push_proc_bind(Place*, GlobalThread, std::int32_t binding) {
  constexpr auto last = static_cast<std::int32_t>(ProcBind::spread);
  if (binding >= 0 && binding <= last) announced.bind = static_cast<ProcBind>(binding);
}

MUSUBI_EXPORT void __kmpc_push_num_teams(Place*, GlobalThread, std::int32_t teams,
                                         std::int32_t thread_limit) {
  announce_teams(teams, thread_limit);
}
// The upper bound is what the league has, as with the one number above.
MUSUBI_EXPORT void __kmpc_push_num_teams_51(Place*, GlobalThread, std::int32_t /*lower*/, std::int32_t upper,
                                            std::int32_t thread_limit) {
  announce_teams(upper, thread_limit);
}
// For the target region that runs on the host next.
MUSUBI_EXPORT void __kmpc_set_thread_limit(Place*, GlobalThread, std::int32_t thread_limit) {
  if (thread_limit > 0) current_task().icv.thread_limit = static_cast<std::uint32_t>(thread_limit);
}

// Without a clause for their number a league has one team, or OMP_NUM_TEAMS.
MUSUBI_EXPORT void __kmpc_fork_teams(Place*, std::int32_t count, Microtask microtask, ...) {
  MUSUBI_OMP_ENTRY();
  const auto words = static_cast<std::uint32_t>(count);
  void* memory = alloca(Captured::bytes_for(words));
  va_list list;
  va_start(list, microtask);
  Captured* captured = Captured::put(memory, microtask, words, list);
  va_end(list);
  const Announced wanted = take_announced();
  run_league(&Captured::run, captured, wanted.teams, wanted.thread_limit);
}

MUSUBI_EXPORT GlobalThread __kmpc_global_thread_num(Place*) {
  return global_thread();
}
MUSUBI_EXPORT std::int32_t __kmpc_global_num_threads(Place*) {
  const Job* job = Job::current();
  return job != nullptr ? static_cast<std::int32_t>(job->team.threads().all()) : 1;
}
MUSUBI_EXPORT std::int32_t __kmpc_bound_thread_num(Place*) {
  return static_cast<std::int32_t>(implicit_task().number);
}
MUSUBI_EXPORT std::int32_t __kmpc_bound_num_threads(Place*) {
  return static_cast<std::int32_t>(implicit_task().size);
}
MUSUBI_EXPORT std::int32_t __kmpc_in_parallel(Place*) {
  return implicit_task().active_level > 0;
}
MUSUBI_EXPORT std::int32_t __kmpc_ok_to_fork(Place*) {
  return 1;
}
MUSUBI_EXPORT void __kmpc_begin(Place*, std::int32_t /*flags*/) {}
MUSUBI_EXPORT void __kmpc_end(Place*) {}

}  // extern "C"
