// Memory allocators of OpenMP (specification 5.1, section 2.13). All memory comes from the shared heap,
// whatever memory space was named; alignment, pool size and fallback are kept.
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

// Result: 0 when a trait is not valid, or asks for what is not there (pinned memory).
AllocatorHandle make_allocator(std::uintptr_t space, std::span<const AllocatorTrait> traits);
void destroy_allocator(AllocatorHandle allocator);

// `allocator` 0: def-allocator-var. Null when `bytes` is 0 or there is no memory and no fallback has any;
// ends the job where the fallback says so. Memory is given back by free_allocation, on any rank.
void* allocate(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator);
// The same, but ends the job when there is no memory.
void* allocate_or_end(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator);
void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t bytes, AllocatorHandle allocator);
// `allocator` 0: the one that `address` came from.
void* reallocate(void* address, std::size_t bytes, AllocatorHandle allocator);
void free_allocation(void* address);

}  // namespace musubi::omp
