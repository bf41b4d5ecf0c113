// Memory that every rank can reach, for constructs that pass memory from one thread to others (task
// reductions, omp_alloc). The owner of the heap supplies the allocator.
#pragma once

#include <cstddef>

namespace musubi::omp {

struct SharedAllocator {
  // Null if out of memory; `alignment` is a power of two.
  void* (*allocate)(std::size_t alignment, std::size_t bytes);
  void (*free)(void* address);
};

// Called by the owner of the shared heap, before regions run. The default is the C library's allocator, which
// is right if it is the shared heap, or if there is one rank.
void set_shared_allocator(const SharedAllocator& allocator);

// Ends the job if there is no memory.
void* allocate_shared_zeroed(std::size_t alignment, std::size_t bytes);
// Null if there is no memory.
void* allocate_shared(std::size_t alignment, std::size_t bytes);
void free_shared(void* address);

}  // namespace musubi::omp
