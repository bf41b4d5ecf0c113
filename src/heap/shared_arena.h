// The arena of jemalloc that carves up this rank's part of the shared heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace musubi::heap {

// Creates the arena over [base, base+bytes), which must be zero memory, mapped for good. It takes memory from
// the bottom up, never touches or gives back a page of it, and keeps its own data in private memory. Result:
// the arena's index. Once per process. Errors: no memory for the allocator's data.
Result<unsigned> create_shared_arena(std::uintptr_t base, std::size_t bytes);

// Makes plain malloc on the calling thread serve memory of `arena`, through the thread's cache. False: no
// memory.
bool bind_thread_to_arena(unsigned arena) noexcept;

}  // namespace musubi::heap
