// The jemalloc arena that allocates from this rank's part of the shared heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/check.h"
#include "base/result.h"
#include "heap/free_pages.h"

namespace musubi::heap {

struct SharedArena {
  unsigned index;    // jemalloc's
  FreePages* pages;  // of the arena, valid for good
};

// Creates the arena over [base, base+bytes), which must be zero memory, mapped for good. It allocates from
// the bottom up, never touches a page, and keeps its own data in private memory. Blocks and ranks as in
// FreePages. Once per process. Errors: no memory for the allocator's data.
Result<SharedArena> create_shared_arena(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes,
                                        std::uint32_t ranks);

// Makes plain malloc on the calling thread serve memory of `arena`, through the thread's cache. False: no
// memory. REQUIRES: the thread's cache is empty, since cached memory is served first.
bool bind_thread_to_arena(unsigned arena) noexcept;

// Marks one allocation of the calling thread that asks jemalloc for zeros. Pages that have just come into use
// may hold other bytes: clear() must run before they are read. jemalloc does not zero them itself, because it
// holds locks there.
class ZeroedMemory {
 public:
  ZeroedMemory() noexcept;
  ~ZeroedMemory();
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

  void note(AddressRange taken) noexcept {
    MUSUBI_CHECK(taken_.bytes == 0);
    taken_ = taken;
  }
  void clear(FreePages& pages, PageReleaser& giver) const noexcept {
    if (taken_.bytes != 0) pages.clear(taken_.begin, taken_.bytes, giver);
  }

 private:
  AddressRange taken_;
};

}  // namespace musubi::heap
