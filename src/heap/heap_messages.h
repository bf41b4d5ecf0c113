// Memory that travels between the heaps of ranks.
//
// A free is invisible to the program, yet it orders memory. The last bytes that the freeing rank wrote must
// neither overwrite nor hide the bytes that the owner writes after it has allocated the memory again. So the
// freeing rank releases before it sends a free, and the owner acquires before it reuses the memory. Both cost
// much more than a free, and are done for many frees at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.h"
#include "heap/heap.h"
#include "heap/mapped_memory.h"
#include "runtime/api/runtime.h"

namespace musubi::heap {

class HeapMessages final : public RemoteHeap,
                           public runtime::Messages::HeapListener,
                           public runtime::Synchronization::Allocations {
 public:
  static constexpr std::size_t unsent_max = 32;
  static constexpr std::size_t unsent_bytes_max = 4 << 20;  // of large allocations
  static constexpr std::size_t waiting_count_max = 64;
  static constexpr std::size_t waiting_bytes_max = 4 << 20;

  // All outlive this.
  HeapMessages(runtime::Runtime& runtime, Heap& own, MappedMemory& mapped)
      : runtime_(runtime), heap_(own), mapped_(mapped) {}

  // RemoteHeap, on the program's threads:
  void release(Rank owner, std::uintptr_t address, std::size_t bytes) noexcept override;
  std::size_t usable_bytes(Rank owner, std::uintptr_t address) noexcept override;
  void take_back() noexcept override;
  bool give_back(std::uintptr_t address, std::size_t bytes) noexcept override;

  // Allocations, on a thread that begins a region:
  AddressRange allocations_at(std::uintptr_t address) const noexcept override {
    return heap_.allocations_at(address);
  }

  // HeapListener, on the runtime's service thread:
  void on_free(Rank from, std::uintptr_t address, std::size_t bytes) noexcept override;
  std::size_t on_size_query(std::uintptr_t address) noexcept override;
  bool is_own(std::uintptr_t address, std::size_t bytes) const noexcept override;

 private:
  struct Unsent {
    Rank owner;
    std::uintptr_t address;
    std::size_t bytes;
  };
  // Returned by another rank, not reused yet.
  struct Waiting {
    std::uintptr_t address;
    std::size_t bytes;  // of a mapping, or 0 for an allocation
    Waiting* next;
  };

  void release_here(std::uintptr_t address, std::size_t bytes) noexcept;

  runtime::Runtime& runtime_;
  Heap& heap_;
  MappedMemory& mapped_;
  // Each lock is held for a few instructions, without an allocation.
  SpinLock unsent_lock_;
  std::array<Unsent, unsent_max> unsent_{};
  std::size_t unsent_count_ = 0;
  std::size_t unsent_bytes_ = 0;
  SpinLock waiting_lock_;
  Waiting* waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace musubi::heap
