// Reductions of regions and work-shared loops: each thread combines its copies into the original variables.
#include "omp/entry.h"
#include "omp/kmp/abi.h"
#include "omp/locks.h"
#include "omp/team.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// The calling thread's answer: it combines its copies into the originals by its own code, and then calls the
// end. (2 would be: by atomic operations, a message for each variable.)
constexpr std::int32_t combine_it = 1;

std::int32_t begin(const CriticalName* lock) {
  if (implicit_task().size > 1) critical_begin(lock);
  return combine_it;
}

void end(const CriticalName* lock) {
  if (implicit_task().size > 1) critical_end(lock);
}

}  // namespace

extern "C" {

// `copies`: the addresses of the calling thread's copies; `combine(a, b)` combines two such lists into the
// first.
MUSUBI_EXPORT std::int32_t __kmpc_reduce(Place*, GlobalThread, std::int32_t /*variables*/,
                                         std::size_t /*bytes of the list*/, void* /*copies*/,
                                         void (* /*combine*/)(void*, void*), CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  return begin(lock);
}
MUSUBI_EXPORT void __kmpc_end_reduce(Place*, GlobalThread, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  end(lock);
  barrier();
}

MUSUBI_EXPORT std::int32_t __kmpc_reduce_nowait(Place*, GlobalThread, std::int32_t /*variables*/,
                                                std::size_t /*bytes of the list*/, void* /*copies*/,
                                                void (* /*combine*/)(void*, void*), CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  return begin(lock);
}
MUSUBI_EXPORT void __kmpc_end_reduce_nowait(Place*, GlobalThread, CriticalName* lock) {
  MUSUBI_OMP_ENTRY();
  end(lock);
}

}  // extern "C"
