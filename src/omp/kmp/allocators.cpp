// The compiler's calls for `allocate` clauses, directives and dependence objects.
#include "omp/allocators.h"

#include "omp/entry.h"
#include "omp/kmp/abi.h"
#include "omp/thread.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

extern "C" {

MUSUBI_EXPORT void* __kmpc_alloc(GlobalThread, std::size_t bytes, AllocatorHandle allocator) {
  return allocate(1, bytes, allocator);
}
MUSUBI_EXPORT void* __kmpc_aligned_alloc(GlobalThread, std::size_t alignment, std::size_t bytes,
                                         AllocatorHandle allocator) {
  return allocate(alignment, bytes, allocator);
}
MUSUBI_EXPORT void* __kmpc_calloc(GlobalThread, std::size_t count, std::size_t bytes,
                                  AllocatorHandle allocator) {
  return allocate_zeroed(1, count, bytes, allocator);
}
MUSUBI_EXPORT void* __kmpc_realloc(GlobalThread, void* address, std::size_t bytes, AllocatorHandle allocator,
                                   AllocatorHandle /*free_allocator*/) {
  return reallocate(address, bytes, allocator);
}
MUSUBI_EXPORT void __kmpc_free(GlobalThread, void* address, AllocatorHandle /*allocator*/) {
  free_allocation(address);
}

MUSUBI_EXPORT AllocatorHandle __kmpc_init_allocator(GlobalThread, std::uintptr_t space, std::int32_t count,
                                                    const AllocatorTrait* traits) {
  return make_allocator(space, {traits, static_cast<std::size_t>(count)});
}
MUSUBI_EXPORT void __kmpc_destroy_allocator(GlobalThread, AllocatorHandle allocator) {
  destroy_allocator(allocator);
}
MUSUBI_EXPORT void __kmpc_set_default_allocator(GlobalThread, AllocatorHandle allocator) {
  constexpr AllocatorHandle default_memory = 1;
  current_task().icv.allocator = allocator == 0 ? default_memory : allocator;
}
MUSUBI_EXPORT AllocatorHandle __kmpc_get_default_allocator(GlobalThread) {
  return current_task().icv.allocator;
}

}  // extern "C"
