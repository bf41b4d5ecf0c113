// The program's heap: shared memory for the program and its libraries, private memory for the C library, the
// dynamic linker and Musubi, whose buffers go to the kernel or are needed inside the fault handler.
//
// Each rank allocates in its own part of the shared heap; the address identifies the owner. Memory of another
// rank is returned by message (heap_messages.h). jemalloc keeps its metadata apart from the memory, so that
// an allocator never causes sharing: nothing here reads or writes a byte of shared memory except to zero or
// copy bytes for the caller. Free memory returns to the system (free_pages.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address_range.h"
#include "base/ids.h"
#include "base/result.h"
#include "heap/free_pages.h"
#include "heap/jemalloc.h"
#include "heap/large_allocations.h"

namespace musubi::heap {

// The heap's requests to other ranks, and to the system for the memory of its pages. The runtime implements
// them (heap_messages.h); tests have fakes.
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

// The shared heap of the job, as Runtime::layout gives it.
struct HeapPlace {
  std::uintptr_t base = 0;
  std::size_t bytes_per_rank = 0;
  Rank self{};
  std::uint32_t ranks = 1;
  std::size_t block_bytes = 4096;  // unit of coherence
  std::size_t break_bytes = 0;     // at the end of rank 0's part; the heap does not use them
};

// One per process, alive before and after everything else: a preloaded malloc is called long before the first
// constructor. All operations: any thread; not from a signal handler unless the address is private. They
// follow malloc(3).
class Heap {
 public:
  // From now on allocations are shared, except for callers inside one of `private_callers`. Once; before the
  // program has threads. Errors: no memory for the allocator's own data.
  Result<void> share(const HeapPlace& place, std::span<const AddressRange> private_callers,
                     RemoteHeap& foreign);

  // In a child made by fork: from now on `foreign` represents the other ranks. It outlives this.
  void set_foreign(RemoteHeap& foreign) noexcept { foreign_ = &foreign; }

  // `caller`: return address of the allocation function; it decides between shared and private.
  void* allocate(std::size_t bytes, const void* caller) noexcept {
    if (bytes < large_bytes_.load(std::memory_order_relaxed) && thread_bound_ && !is_private_caller(caller))
        [[likely]] {
      return musubi_je_malloc(bytes);
    }
    return allocate_other(bytes, caller, 0);
  }
  void* allocate_zeroed(std::size_t count, std::size_t bytes, const void* caller) noexcept;
  // REQUIRES: alignment is a power of two.
  void* allocate_aligned(std::size_t alignment, std::size_t bytes, const void* caller) noexcept;
  // Shared memory (private before share()), for any caller.
  void* allocate_shared(std::size_t bytes) noexcept { return allocate(bytes, nullptr); }

  void release(void* pointer) noexcept {
    if (is_own(pointer) && thread_bound_) [[likely]] {
      forget_large(pointer);
      musubi_je_free(pointer);
      if (pages_->is_due()) [[unlikely]]
        give_back();
      return;
    }
    release_other(pointer);
  }
  // Memory stays shared or private; `caller` decides only for a null pointer. Memory of another rank moves to
  // this rank.
  void* resize(void* pointer, std::size_t bytes, const void* caller) noexcept;
  std::size_t usable_bytes(const void* pointer) noexcept;

  // For the messages of other ranks: memory of this rank's own part, on any thread. Makes the next allocation
  // of the program call RemoteHeap::take_back.
  void request_take_back() noexcept { large_bytes_.store(0, std::memory_order_relaxed); }
  // Whether an allocation of any rank that begins there can have `aligned_from_blocks` blocks or more.
  bool may_be_large(std::uintptr_t address) const noexcept { return address % place_.block_bytes == 0; }
  std::size_t own_usable_bytes(std::uintptr_t address) noexcept;
  // For memory that the program has allocated: a range that contains the whole allocation that contains
  // `address`, or ends there. Much wider for small allocations and for those of another rank.
  AddressRange allocations_at(std::uintptr_t address) const noexcept;
  void release_own(std::uintptr_t address) noexcept;

  // During its lifetime the C library's allocations on this thread are shared, or are not.
  template <bool served>
  class LibraryService {
   public:
    LibraryService() noexcept : before_(serves_library_) { serves_library_ = served; }
    ~LibraryService() { serves_library_ = before_; }
    LibraryService(const LibraryService&) = delete;
    LibraryService& operator=(const LibraryService&) = delete;

   private:
    const bool before_;
  };
  using LibraryServed = LibraryService<true>;      // the library works for the program
  using LibraryNotServed = LibraryService<false>;  // nested in it: the library calls the program back

  // Whether `caller` gets shared memory.
  bool serves(const void* caller) const noexcept { return own_.bytes != 0 && !is_private_caller(caller); }
  // For an address in the shared heap.
  Rank owner_of(const void* pointer) const noexcept;
  // The end of the part of `owner`.
  std::uintptr_t end_of_part(Rank owner) const noexcept {
    return place_.base + (owner.value + 1) * place_.bytes_per_rank;
  }

  bool is_own(const void* pointer) const noexcept {
    return own_.contains(reinterpret_cast<std::uintptr_t>(pointer));
  }
  bool is_shared(const void* pointer) const noexcept {
    return all_.contains(reinterpret_cast<std::uintptr_t>(pointer));
  }

 private:
  static constexpr std::size_t private_caller_ranges_max = 7;
  // An allocation of at least this many blocks begins at a block of its own: two large arrays then never
  // share a block.
  static constexpr std::size_t aligned_from_blocks = 2;
  // jemalloc's large sizes are multiples of large powers of two: arrays of one size would all map to the same
  // cache sets and memory banks (docs/decisions/heap.md). So the first large allocations from fresh memory
  // have gaps between them.
  static constexpr std::size_t spread_from_blocks = 32;
  static constexpr std::size_t gap_blocks = 4;
  static constexpr std::uint32_t gaps_max = 64;

  std::size_t large_bytes() const noexcept {
    return std::min(aligned_from_blocks * place_.block_bytes, LargeAllocations::bytes_min);
  }
  bool is_private_caller(const void* caller) const noexcept {
    for (const AddressRange& range : private_callers_) {
      if (range.contains(reinterpret_cast<std::uintptr_t>(caller))) return true;
    }
    return false;
  }
  void* allocate_other(std::size_t bytes, const void* caller, int flags) noexcept;
  void* allocate_here(std::size_t bytes, int flags) noexcept;
  void* allocate_zeroed_here(std::size_t bytes, int flags) noexcept;
  void leave_gap() noexcept;
  void give_back() noexcept;
  bool bind_thread() noexcept;
  void take_back() noexcept;
  void release_other(void* pointer) noexcept;
  void* resize_foreign(void* pointer, std::size_t bytes) noexcept;
  void* resize_stream(void* pointer, std::size_t bytes) noexcept;
  bool is_foreign(const void* pointer) const noexcept { return is_shared(pointer) && !is_own(pointer); }

  void forget_large(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (large_.may_have(address)) [[unlikely]]
      large_.remove(address);
  }
  void note_large(const void* pointer, std::size_t bytes) noexcept {
    if (pointer != nullptr && bytes >= LargeAllocations::bytes_min)
      large_.add(reinterpret_cast<std::uintptr_t>(pointer), bytes);
  }

  // Plain malloc on this thread serves shared memory.
  static constinit thread_local bool thread_bound_;
  static constinit thread_local bool serves_library_;

  // Smaller allocations may take the fast path. 0 before share(), and while returned memory waits for reuse.
  std::atomic<std::size_t> large_bytes_{0};
  AddressRange own_;  // empty before share()
  AddressRange all_;
  std::array<AddressRange, private_caller_ranges_max> private_callers_{};
  HeapPlace place_;
  LargeAllocations large_;
  unsigned arena_ = 0;
  FreePages* pages_ = nullptr;
  std::atomic<std::uint32_t> gaps_{0};
  RemoteHeap* foreign_ = nullptr;
};

// A process has one heap: malloc has no argument that could name it.
extern constinit Heap process_heap;

}  // namespace musubi::heap
