// Memory that every rank can reach, for constructs that hand memory from one thread to others (task
// reductions, omp_alloc). Where it comes from is the business of whoever owns the heap.
#pragma once

#include <cstddef>

namespace musubi::omp {

struct SharedAllocator {
  void* (*allocate)(std::size_t alignment,
                    std::size_t bytes);  // null when there is none; alignment a power of two
  void (*free)(void* address);
};

// By the owner of the shared heap, before regions run. Without it the C library's allocator serves, which is
// right where that one is the shared heap, or when there is one rank.
void set_shared_allocator(const SharedAllocator& allocator);

// Ends the job when there is no memory.
void* allocate_shared_zeroed(std::size_t alignment, std::size_t bytes);
// Null when there is none.
void* allocate_shared(std::size_t alignment, std::size_t bytes);
void free_shared(void* address);

}  // namespace musubi::omp
