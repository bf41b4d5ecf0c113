// Barriers, critical sections, the atomic fallback, single, sections, scope, and cancellation.
#include "omp/gomp/entry.h"
#include "omp/gomp/loop_values.h"
#include "omp/job.h"
#include "omp/locks.h"
#include "omp/tasks.h"
#include "omp/team.h"
#include "omp/worksharing.h"

using namespace musubi::omp;

namespace {

// Sections are a dynamic loop over their numbers, from 1; 0 says that there is none left.
unsigned next_section() {
  ImplicitTask& task = current_task();
  if (!loop_next(task)) return 0;
  return static_cast<unsigned>(task.loop.specification.space.value_at(task.loop.chunk.first));
}

unsigned start_sections(unsigned count) {
  loop_begin(current_task(), gomp::specify_sections(count));
  return next_section();
}

void refuse_cancellation(const char* construct) {
  const Job* job = Job::current();
  if (job != nullptr && job->environment.cancellation) {
    unsupported(construct, "unset OMP_CANCELLATION, and the program runs without cancelling");
  }
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void GOMP_barrier() {
  MUSUBI_GOMP_ENTRY();
  barrier();
}

MUSUBI_EXPORT void GOMP_critical_start() {
  MUSUBI_GOMP_ENTRY();
  critical_begin(nullptr);
}
MUSUBI_EXPORT void GOMP_critical_end() {
  MUSUBI_GOMP_ENTRY();
  critical_end(nullptr);
}
MUSUBI_EXPORT void GOMP_critical_name_start(void** name) {
  MUSUBI_GOMP_ENTRY();
  critical_begin(name);
}
MUSUBI_EXPORT void GOMP_critical_name_end(void** name) {
  MUSUBI_GOMP_ENTRY();
  critical_end(name);
}
MUSUBI_EXPORT void GOMP_atomic_start() {
  MUSUBI_GOMP_ENTRY();
  atomic_begin();
}
MUSUBI_EXPORT void GOMP_atomic_end() {
  MUSUBI_GOMP_ENTRY();
  atomic_end();
}

MUSUBI_EXPORT bool GOMP_single_start() {
  MUSUBI_GOMP_ENTRY();
  return single_begin(current_task());
}

// Null in the thread that executes the block; the others wait for what it hands to GOMP_single_copy_end.
MUSUBI_EXPORT void* GOMP_single_copy_start() {
  MUSUBI_GOMP_ENTRY();
  ImplicitTask& task = current_task();
  return single_begin(task) ? nullptr : broadcast(task, false, nullptr);
}
MUSUBI_EXPORT void GOMP_single_copy_end(void* data) {
  MUSUBI_GOMP_ENTRY();
  broadcast(current_task(), true, data);
}

MUSUBI_EXPORT unsigned GOMP_sections_start(unsigned count) {
  MUSUBI_GOMP_ENTRY();
  return start_sections(count);
}
MUSUBI_EXPORT unsigned GOMP_sections2_start(unsigned count, std::uintptr_t* reductions, void** memory) {
  MUSUBI_GOMP_ENTRY();
  if (reductions != nullptr) worksharing_reduction_begin(reductions);
  if (memory != nullptr)
    *memory = construct_memory(current_task(), reinterpret_cast<std::uintptr_t>(*memory));
  return start_sections(count);
}
MUSUBI_EXPORT unsigned GOMP_sections_next() {
  MUSUBI_GOMP_ENTRY();
  return next_section();
}
MUSUBI_EXPORT void GOMP_sections_end() {
  MUSUBI_GOMP_ENTRY();
  barrier();
}
MUSUBI_EXPORT void GOMP_sections_end_nowait() {}

MUSUBI_EXPORT void GOMP_scope_start(std::uintptr_t* reductions) {
  MUSUBI_GOMP_ENTRY();
  if (reductions != nullptr) worksharing_reduction_begin(reductions);
}

// With OMP_CANCELLATION unset, as by default, nothing is ever cancelled.
MUSUBI_EXPORT bool GOMP_cancel(int /*which*/, bool /*condition*/) {
  refuse_cancellation("#pragma omp cancel");
  return false;
}
MUSUBI_EXPORT bool GOMP_cancellation_point(int /*which*/) {
  refuse_cancellation("#pragma omp cancellation point");
  return false;
}
MUSUBI_EXPORT bool GOMP_barrier_cancel() {
  MUSUBI_GOMP_ENTRY();
  barrier();
  return false;
}
MUSUBI_EXPORT bool GOMP_loop_end_cancel() {
  MUSUBI_GOMP_ENTRY();
  barrier();
  return false;
}
MUSUBI_EXPORT bool GOMP_sections_end_cancel() {
  MUSUBI_GOMP_ENTRY();
  barrier();
  return false;
}

}  // extern "C"
