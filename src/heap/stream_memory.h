// The memory of the C library's streams: private memory at addresses that name the rank, so that a stream of
// another rank is known by its address. The parts of other ranks read as zeros: the inlined getc_unlocked and
// putc_unlocked then call the C library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "base/spin_lock.h"

namespace musubi::heap {

class StreamMemory {
 public:
  // Once, before the program has threads. Errors: addresses in use.
  Result<void> reserve(Rank self, std::uint32_t ranks);

  // During its lifetime each allocation of the C library on this thread is a stream.
  class StreamAllocation {
   public:
    StreamAllocation() noexcept { ++allocations_; }
    ~StreamAllocation() { --allocations_; }
    StreamAllocation(const StreamAllocation&) = delete;
    StreamAllocation& operator=(const StreamAllocation&) = delete;
  };

  // Memory for a stream; null if none is being made, `bytes` is too large, or all slots are taken. Zeroed
  // only when fresh.
  void* take(std::size_t bytes) noexcept;
  // REQUIRES: contains(memory), of this rank.
  void give_back(void* memory) noexcept;

  bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base < bytes_;
  }
  // REQUIRES: contains(address).
  Rank owner_of(const void* address) const noexcept {
    return Rank{
        static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(address) - base) / bytes_per_rank)};
  }
  // Whether `address` is memory of this rank that was taken and not returned.
  bool is_in_use(const void* address) const noexcept;

  static constexpr std::size_t slot_bytes = 1024;

 private:
  // Below the shared space; the kernel maps nothing there by itself.
  static constexpr std::uintptr_t base = 0x0f00'0000'0000;
  static constexpr std::size_t slots_per_rank = 4096;
  static constexpr std::size_t bytes_per_rank = slots_per_rank * slot_bytes;

  std::size_t slot_of(const void* address) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) - own_) / slot_bytes;
  }

  static constinit thread_local int allocations_;

  std::size_t bytes_ = 0;  // of all ranks; 0: none
  std::uintptr_t own_ = 0;
  SpinLock lock_;
  std::size_t lowest_free_ = 0;  // no free slot below
  bool used_[slots_per_rank] = {};
};

// A process has one, as it has one heap.
extern constinit StreamMemory stream_memory;

}  // namespace musubi::heap
