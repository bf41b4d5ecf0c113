// The compiler's calls for `allocate` clauses and directives.
#include "omp/allocators.h"

#include <cstdint>

#include "omp/entry.h"

using namespace musubi::omp;

extern "C" {

MUSUBI_EXPORT void* GOMP_alloc(std::size_t alignment, std::size_t bytes, std::uintptr_t allocator) {
  return allocate_or_end(alignment, bytes, allocator);
}
MUSUBI_EXPORT void GOMP_free(void* address, std::uintptr_t /*allocator*/) {
  free_allocation(address);
}

}  // extern "C"
