// Reductions of regions and work-shared loops: one thread of the team combines the copies of all into the
// original variables.
#include "omp/cancellation.h"
#include "omp/entry.h"
#include "omp/kmp/abi.h"
#include "omp/locks.h"
#include "omp/reduction_tree.h"
#include "omp/team.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// The answers to a thread: it combines its copies into the originals by its own code, and then calls the end;
// or there is nothing left to do. (2 would be: by atomic operations, a message for each variable.)
constexpr std::int32_t combine_it = 1, is_done = 0;

// Threads of a cancelled region may never come to a reduction, and teams of a league have no barrier with
// each other: then each combines its own copies, under a lock.
std::int32_t begin(void* copies, CombineCopies combine, const CriticalName* lock, CopiesStay stay) {
  ImplicitTask& task = implicit_task();
  if (task.size == 1 && task.icv.league == 1) return combine_it;
  if (task.size > 1 && !cancellation_enabled() && combine != nullptr)
    return reduce(task, copies, combine, stay) ? combine_it : is_done;
  critical_begin(lock);
  task.reduces_under_lock = true;
  return combine_it;
}

void end(const CriticalName* lock) {
  ImplicitTask& task = implicit_task();
  if (!task.reduces_under_lock) return;
  task.reduces_under_lock = false;
  critical_end(lock);
}

}  // namespace

extern "C" {

// `copies`: the addresses of the calling thread's copies; `combine(a, b)` combines two such lists into the
// first.
MUSUBI_EXPORT std::int32_t __kmpc_reduce(Place*, GlobalThread, std::int32_t /*variables*/,
                                         std::size_t /*bytes of the list*/, void* copies,
                                         CombineCopies combine, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  const std::int32_t answer = begin(copies, combine, lock, CopiesStay::until_barrier);
  // The thread that combines the rest comes to the barrier by the end of the reduction.
  if (answer == is_done) barrier(nullptr, events::Sync::reduction);
  return answer;
}
MUSUBI_EXPORT void __kmpc_end_reduce(Place*, GlobalThread, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  end(lock);
  barrier(nullptr, events::Sync::reduction);
}

MUSUBI_EXPORT std::int32_t __kmpc_reduce_nowait(Place*, GlobalThread, std::int32_t /*variables*/,
                                                std::size_t /*bytes of the list*/, void* copies,
                                                CombineCopies combine, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  return begin(copies, combine, lock, CopiesStay::until_taken);
}
MUSUBI_EXPORT void __kmpc_end_reduce_nowait(Place*, GlobalThread, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  end(lock);
}

}  // extern "C"
