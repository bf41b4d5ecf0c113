// Barriers, critical sections, the atomic fallback, single, sections, scope, and cancellation.
#include "omp/cancellation.h"
#include "omp/entry.h"
#include "omp/gomp/loop_values.h"
#include "omp/gomp/reductions.h"
#include "omp/locks.h"
#include "omp/team.h"
#include "omp/worksharing.h"

using namespace musubi::omp;

namespace {

// Sections are a dynamic loop over their numbers, from 1; 0: none is left.
unsigned next_section() {
  ImplicitTask& task = implicit_task();
  if (!loop_next(task)) return 0;
  return static_cast<unsigned>(task.loop.specification.space.value_at(task.loop.chunk.first));
}

unsigned start_sections(unsigned count) {
  loop_begin(implicit_task(), gomp::specify_sections(count));
  return next_section();
}

// The interface identifies a construct by one of these bits (gomp-constants.h); that of a region is 1.
Cancellable cancellable_of(int bits) {
  constexpr int loop = 2, sections = 4, taskgroup = 8;
  if ((bits & (loop | sections)) != 0) return Cancellable::loop;
  return (bits & taskgroup) != 0 ? Cancellable::taskgroup : Cancellable::region;
}

// Result: whether the region was cancelled, and the thread must leave it.
bool barrier_of_cancellable(events::Sync kind) {
  return !barrier(nullptr, kind) || region_is_cancelled(implicit_task());
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void GOMP_barrier() {
  MUSUBI_OMP_ENTRY();
  barrier();
}

MUSUBI_EXPORT void GOMP_critical_start() {
  MUSUBI_OMP_ENTRY();
  critical_begin(nullptr);
}
MUSUBI_EXPORT void GOMP_critical_end() {
  MUSUBI_OMP_ENTRY();
  critical_end(nullptr);
}
MUSUBI_EXPORT void GOMP_critical_name_start(void** name) {
  MUSUBI_OMP_ENTRY();
  critical_begin(name);
}
MUSUBI_EXPORT void GOMP_critical_name_end(void** name) {
  MUSUBI_OMP_ENTRY();
  critical_end(name);
}
MUSUBI_EXPORT void GOMP_atomic_start() {
  MUSUBI_OMP_ENTRY();
  atomic_begin();
}
MUSUBI_EXPORT void GOMP_atomic_end() {
  MUSUBI_OMP_ENTRY();
  atomic_end();
}

MUSUBI_EXPORT bool GOMP_single_start() {
  MUSUBI_OMP_ENTRY();
  return single_begin(implicit_task());
}

// Null in the thread that executes the block; the other threads wait for the pointer that it passes to
// GOMP_single_copy_end.
MUSUBI_EXPORT void* GOMP_single_copy_start() {
  MUSUBI_OMP_ENTRY();
  ImplicitTask& task = implicit_task();
  if (single_begin(task)) return nullptr;
  return broadcast_or_end(task, false, nullptr);
}
MUSUBI_EXPORT void GOMP_single_copy_end(void* data) {
  MUSUBI_OMP_ENTRY();
  broadcast(implicit_task(), true, data);
}

MUSUBI_EXPORT unsigned GOMP_sections_start(unsigned count) {
  MUSUBI_OMP_ENTRY();
  return start_sections(count);
}
MUSUBI_EXPORT unsigned GOMP_sections2_start(unsigned count, std::uintptr_t* reductions, void** memory) {
  MUSUBI_OMP_ENTRY();
  if (reductions != nullptr) gomp::worksharing_reduction_begin(reductions);
  if (memory != nullptr)
    *memory = construct_memory(implicit_task(), reinterpret_cast<std::uintptr_t>(*memory));
  return start_sections(count);
}
MUSUBI_EXPORT unsigned GOMP_sections_next() {
  MUSUBI_OMP_ENTRY();
  return next_section();
}
MUSUBI_EXPORT void GOMP_sections_end() {
  MUSUBI_OMP_ENTRY();
  loop_end(implicit_task());
  barrier(nullptr, events::Sync::end_of_loop);
}
MUSUBI_EXPORT void GOMP_sections_end_nowait() {
  MUSUBI_OMP_CALL();
  loop_end(implicit_task());
}

MUSUBI_EXPORT void GOMP_scope_start(std::uintptr_t* reductions) {
  MUSUBI_OMP_ENTRY();
  if (reductions != nullptr) gomp::worksharing_reduction_begin(reductions);
}

MUSUBI_EXPORT bool GOMP_cancel(int which, bool condition) {
  MUSUBI_OMP_ENTRY();
  const Cancellable construct = cancellable_of(which);
  return condition ? cancel(implicit_task(), construct) : cancellation_point(implicit_task(), construct);
}
MUSUBI_EXPORT bool GOMP_cancellation_point(int which) {
  MUSUBI_OMP_ENTRY();
  return cancellation_point(implicit_task(), cancellable_of(which));
}
MUSUBI_EXPORT bool GOMP_barrier_cancel() {
  MUSUBI_OMP_ENTRY();
  return barrier_of_cancellable(events::Sync::explicit_barrier);
}
MUSUBI_EXPORT bool GOMP_loop_end_cancel() {
  MUSUBI_OMP_ENTRY();
  loop_end(implicit_task());
  return barrier_of_cancellable(events::Sync::end_of_loop);
}
MUSUBI_EXPORT bool GOMP_sections_end_cancel() {
  MUSUBI_OMP_ENTRY();
  loop_end(implicit_task());
  return barrier_of_cancellable(events::Sync::end_of_loop);
}

}  // extern "C"
