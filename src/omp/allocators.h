// Memory allocators of OpenMP (specification 5.1, section 2.13). All memory is from the shared heap, for
// every memory space; alignment, pool size and fallback are honoured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace musubi::omp {

using AllocatorHandle = std::uintptr_t;  // omp_allocator_handle_t, the same on every rank; 0: none

struct AllocatorTrait {  // omp_alloctrait_t
  int key;
  std::uintptr_t value;
};

// Result: 0 if a trait is invalid or unsupported (pinned memory).
AllocatorHandle make_allocator(std::uintptr_t space, std::span<const AllocatorTrait> traits);
void destroy_allocator(AllocatorHandle allocator);

// `allocator` 0: def-allocator-var. Null if `bytes` is 0, or if neither the allocator nor its fallbacks have
// memory; ends the job if the fallback demands it. free_allocation frees the memory, on any rank.
void* allocate(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator);
// The same, but ends the job if there is no memory.
void* allocate_or_end(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator);
void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t bytes, AllocatorHandle allocator);
// `allocator` 0: the allocator of `address`.
void* reallocate(void* address, std::size_t bytes, AllocatorHandle allocator);
void free_allocation(void* address);

}  // namespace musubi::omp
