// The heap's requests to other ranks, and to the system for the memory of its pages. The runtime implements
// them (heap_messages.h); tests have fakes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "heap/free_pages.h"

namespace musubi::heap {

class RemoteHeap : public PageReleaser {
 public:
  // Returns memory to `owner`, which allocated it, now or later: `bytes` of a mapping, or, for 0, all of an
  // allocation. The caller no longer writes to it.
  virtual void release(Rank owner, std::uintptr_t address, std::size_t bytes) noexcept = 0;
  // Usable bytes of the allocation at `address`, which `owner` made. Blocks for a round trip.
  virtual std::size_t usable_bytes(Rank owner, std::uintptr_t address) noexcept = 0;
  // The rank may reuse memory that other ranks have returned. Called on a thread of the program, inside an
  // allocation, after Heap::request_take_back, and when the heap is full.
  virtual void take_back() noexcept = 0;

 protected:
  ~RemoteHeap() = default;
};

}  // namespace musubi::heap
