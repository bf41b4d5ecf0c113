// omp_alloc and its family, in C and in Fortran.
#include "omp/allocators.h"

#include <cstdint>

#include "omp/entry.h"

using namespace musubi::omp;

extern "C" {

MUSUBI_EXPORT void* omp_alloc(std::size_t bytes, AllocatorHandle allocator) {
  return allocate(1, bytes, allocator);
}
MUSUBI_EXPORT void* omp_aligned_alloc(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator) {
  return allocate(alignment, bytes, allocator);
}
MUSUBI_EXPORT void* omp_calloc(std::size_t count, std::size_t bytes, AllocatorHandle allocator) {
  return allocate_zeroed(1, count, bytes, allocator);
}
MUSUBI_EXPORT void* omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t bytes,
                                       AllocatorHandle allocator) {
  return allocate_zeroed(alignment, count, bytes, allocator);
}
MUSUBI_EXPORT void omp_free(void* address, AllocatorHandle /*allocator*/) {
  free_allocation(address);
}
MUSUBI_EXPORT void* omp_realloc(void* address, std::size_t bytes, AllocatorHandle allocator,
                                AllocatorHandle /*free_allocator*/) {
  return reallocate(address, bytes, allocator);
}

MUSUBI_EXPORT AllocatorHandle omp_init_allocator(std::uintptr_t space, int count,
                                                 const AllocatorTrait* traits) {
  return make_allocator(space, {traits, static_cast<std::size_t>(count)});
}
MUSUBI_EXPORT AllocatorHandle omp_init_allocator_(const std::uintptr_t* space, const int* count,
                                                  const AllocatorTrait* traits) {
  return omp_init_allocator(*space, *count, traits);
}
MUSUBI_EXPORT AllocatorHandle omp_init_allocator_8_(const std::uintptr_t* space, const long* count,
                                                    const AllocatorTrait* traits) {
  return make_allocator(*space, {traits, static_cast<std::size_t>(*count)});
}
MUSUBI_EXPORT void omp_destroy_allocator(AllocatorHandle allocator) {
  destroy_allocator(allocator);
}
MUSUBI_EXPORT void omp_destroy_allocator_(const AllocatorHandle* allocator) {
  destroy_allocator(*allocator);
}

// def-allocator-var.
MUSUBI_EXPORT void omp_set_default_allocator(AllocatorHandle allocator) {
  constexpr AllocatorHandle default_memory = 1;
  current_task().icv.allocator = allocator == 0 ? default_memory : allocator;
}
MUSUBI_EXPORT void omp_set_default_allocator_(const AllocatorHandle* allocator) {
  omp_set_default_allocator(*allocator);
}
MUSUBI_EXPORT AllocatorHandle omp_get_default_allocator() {
  return current_task().icv.allocator;
}
MUSUBI_EXPORT AllocatorHandle omp_get_default_allocator_() {
  return current_task().icv.allocator;
}

// Predefined allocators and spaces, as data for programs that do not know their numbers. The compiler would
// make plain constants local to this file.
#define MUSUBI_CONSTANT(name, value)               \
  extern MUSUBI_EXPORT const AllocatorHandle name; \
  const AllocatorHandle name = value;
MUSUBI_CONSTANT(omp_null_allocator, 0)
MUSUBI_CONSTANT(omp_default_mem_alloc, 1)
MUSUBI_CONSTANT(omp_large_cap_mem_alloc, 2)
MUSUBI_CONSTANT(omp_const_mem_alloc, 3)
MUSUBI_CONSTANT(omp_high_bw_mem_alloc, 4)
MUSUBI_CONSTANT(omp_low_lat_mem_alloc, 5)
MUSUBI_CONSTANT(omp_cgroup_mem_alloc, 6)
MUSUBI_CONSTANT(omp_pteam_mem_alloc, 7)
MUSUBI_CONSTANT(omp_thread_mem_alloc, 8)
MUSUBI_CONSTANT(omp_default_mem_space, 0)
MUSUBI_CONSTANT(omp_large_cap_mem_space, 1)
MUSUBI_CONSTANT(omp_const_mem_space, 2)
MUSUBI_CONSTANT(omp_high_bw_mem_space, 3)
MUSUBI_CONSTANT(omp_low_lat_mem_space, 4)

}  // extern "C"
