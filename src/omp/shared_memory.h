// Memory that every rank can reach, for constructs that pass memory from one thread to others (task
// reductions, omp_alloc). The owner of the heap supplies the allocator.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

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

// Objects that belong to this process alone and live until it ends. They must not come from malloc, which may
// be the heap that all ranks share: the threads of a rank sleep on words in them, and the runtime uses them
// under its locks.

// Fresh zero pages, never freed; ends the process if there are none.
void* private_pages(std::size_t bytes);

template <class T, class... Arguments>
T* make_private(Arguments&&... arguments) {
  static_assert(alignof(T) <= 4096);
  return new (private_pages(sizeof(T))) T(std::forward<Arguments>(arguments)...);
}

}  // namespace musubi::omp
