// Barriers, single, master, masked, scope, critical, flush, cancellation, and the error directive.
#include <unistd.h>

#include <string>

#include "omp/cancellation.h"
#include "omp/entry.h"
#include "omp/events.h"
#include "omp/job.h"
#include "omp/kmp/abi.h"
#include "omp/locks.h"
#include "omp/team.h"
#include "omp/worksharing.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// enum kmp_cancel_kind_t; sections are a loop here.
Cancellable cancellable_of(std::int32_t kind) {
  constexpr std::int32_t loop = 2, sections = 3, taskgroup = 4;
  if (kind == loop || kind == sections) return Cancellable::loop;
  return kind == taskgroup ? Cancellable::taskgroup : Cancellable::region;
}

// The compiled code leaves a cancelled loop without a call.
std::int32_t leaves(Cancellable construct, bool cancelled) {
  if (cancelled && construct == Cancellable::loop) loop_end(implicit_task());
  return cancelled;
}

// Only then does the compiler call a function that can tell of a cancelled region.
void plain_barrier(const Place* place) {
  if (cancellation_enabled()) loop_end(implicit_task());
  const bool ends_construct = place != nullptr && (place->flags & Place::of_implicit_barrier) != 0;
  barrier(nullptr, ends_construct ? events::Sync::end_of_loop : events::Sync::explicit_barrier);
}

std::int32_t is_masked(std::int32_t thread) {
  const bool runs_it = static_cast<std::int64_t>(implicit_task().number) == thread;
  if (runs_it) events::masked(true);
  return runs_it;
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void __kmpc_barrier(Place* place, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  plain_barrier(place);
}
MUSUBI_EXPORT std::int32_t __kmpc_cancel_barrier(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  if (cancellation_enabled()) loop_end(implicit_task());
  return !barrier() || region_is_cancelled(implicit_task());
}
// The master goes on alone, and the other threads wait for it at the end.
MUSUBI_EXPORT std::int32_t __kmpc_barrier_master(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  plain_barrier(nullptr);
  if (implicit_task().number == 0) return 1;
  barrier();
  return 0;
}
MUSUBI_EXPORT void __kmpc_end_barrier_master(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  barrier();
}
MUSUBI_EXPORT std::int32_t __kmpc_barrier_master_nowait(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  plain_barrier(nullptr);
  return implicit_task().number == 0;
}

MUSUBI_EXPORT std::int32_t __kmpc_single(Place*, GlobalThread) {
  MUSUBI_OMP_ENTRY();
  return single_begin(implicit_task());
}
// The other threads do not call it.
MUSUBI_EXPORT void __kmpc_end_single(Place*, GlobalThread) {
  events::work_ends();
}

// The other threads copy from the memory of the one that has run the block, which stays until they have.
MUSUBI_EXPORT void __kmpc_copyprivate(Place*, GlobalThread, std::size_t /*bytes*/, void* data,
                                      void (*copy)(void*, void*), std::int32_t has_run_it) {
  MUSUBI_OMP_ENTRY();
  void* const source = broadcast_or_end(implicit_task(), has_run_it != 0, data);
  if (has_run_it == 0) copy(data, source);
  barrier();
}
// The compiled code copies, and then calls the barrier.
MUSUBI_EXPORT void* __kmpc_copyprivate_light(Place*, GlobalThread, void* data) {
  MUSUBI_OMP_ENTRY();
  return broadcast_or_end(implicit_task(), data != nullptr, data);
}

MUSUBI_EXPORT std::int32_t __kmpc_master(Place*, GlobalThread) {
  return is_masked(0);
}
MUSUBI_EXPORT void __kmpc_end_master(Place*, GlobalThread) {
  events::masked(false);
}
MUSUBI_EXPORT std::int32_t __kmpc_masked(Place*, GlobalThread, std::int32_t thread) {
  return is_masked(thread);
}
MUSUBI_EXPORT void __kmpc_end_masked(Place*, GlobalThread) {
  events::masked(false);
}
MUSUBI_EXPORT void __kmpc_scope(Place*, GlobalThread, void* /*reserved*/) {}
MUSUBI_EXPORT void __kmpc_end_scope(Place*, GlobalThread, void* /*reserved*/) {}

MUSUBI_EXPORT void __kmpc_critical(Place*, GlobalThread, CriticalName* name) {
  MUSUBI_OMP_ENTRY();
  critical_begin(name);
}
MUSUBI_EXPORT void __kmpc_critical_with_hint(Place*, GlobalThread, CriticalName* name,
                                             std::uint32_t /*hint*/) {
  MUSUBI_OMP_ENTRY();
  critical_begin(name);
}
MUSUBI_EXPORT void __kmpc_end_critical(Place*, GlobalThread, CriticalName* name) {
  MUSUBI_OMP_ENTRY();
  critical_end(name);
}

MUSUBI_EXPORT void __kmpc_flush(Place*) {
  MUSUBI_OMP_ENTRY();
  events::flush();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (Job* job = Job::current(); job != nullptr && job->ranks > 1) job->runtime.synchronization().flush();
}

MUSUBI_EXPORT std::int32_t __kmpc_cancel(Place*, GlobalThread, std::int32_t kind) {
  MUSUBI_OMP_ENTRY();
  const Cancellable construct = cancellable_of(kind);
  return leaves(construct, cancel(implicit_task(), construct));
}
MUSUBI_EXPORT std::int32_t __kmpc_cancellationpoint(Place*, GlobalThread, std::int32_t kind) {
  MUSUBI_OMP_ENTRY();
  const Cancellable construct = cancellable_of(kind);
  return leaves(construct, cancellation_point(implicit_task(), construct));
}

// #pragma omp error at(execution)
MUSUBI_EXPORT void __kmpc_error(Place*, std::int32_t severity, const char* text) {
  constexpr std::int32_t fatal = 2;
  const std::string line = std::string("error directive encountered: ") + (text == nullptr ? "" : text);
  events::error(severity == fatal, text == nullptr ? "" : text);
  if (severity == fatal) end_job(Job::require("#pragma omp error").runtime, "fatal error: " + line);
  const std::string warning = "musubi: " + line + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, warning.data(), warning.size());
}

}  // extern "C"
