// The heap's requests to other ranks, and for the memory of its pages. The runtime carries them out
// (heap_messages.h); tests have stand-ins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "heap/free_pages.h"

namespace musubi::heap {

class ForeignMemory : public PageGiver {
 public:
  // Gives memory that `owner` allocated back to it, now or later: `bytes` of a mapping, or, for 0, all of an
  // allocation. The caller has written its last byte of it.
  virtual void release(Rank owner, std::uintptr_t address, std::size_t bytes) noexcept = 0;
  // Usable bytes of the allocation at `address`, which `owner` made. Blocks for a round trip.
  virtual std::size_t usable_bytes(Rank owner, std::uintptr_t address) noexcept = 0;
  // Memory that came home may be taken back into use: called on a thread of the program, inside an
  // allocation, after Heap::request_take_back, and when the heap is full.
  virtual void take_back() noexcept = 0;

 protected:
  ~ForeignMemory() = default;
};

}  // namespace musubi::heap
