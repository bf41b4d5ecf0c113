#include "heap/heap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "heap/shared_arena.h"
#include "heap/stream_memory.h"

namespace musubi::heap {
namespace {

// Private memory: jemalloc's automatic arena, without the threads' caches, which hold shared memory only.
constexpr int private_flags = jemalloc::arena(0) | jemalloc::no_thread_cache;

constexpr int alignment_mask = 0x3f;

// `flags` with at least this alignment.
int with_alignment(int flags, std::size_t alignment) {
  const int wanted = jemalloc::align(alignment);
  return (flags & alignment_mask) >= wanted ? flags : (flags & ~alignment_mask) | wanted;
}

}  // namespace

constinit Heap process_heap;
constinit thread_local bool Heap::thread_bound_ = false;
constinit thread_local bool Heap::serves_library_ = false;

Result<void> Heap::share(const HeapPlace& place, std::span<const AddressRange> private_callers,
                         RemoteHeap& foreign) {
  MUSUBI_CHECK(own_.bytes == 0 && private_callers.size() <= private_caller_ranges_max);
  MUSUBI_CHECK(std::has_single_bit(place.block_bytes) && place.base % place.block_bytes == 0 &&
               place.bytes_per_rank % place.block_bytes == 0);
  MUSUBI_CHECK(place.self.value < place.ranks && place.break_bytes < place.bytes_per_rank);
  const std::uintptr_t own_base = place.base + place.self.value * place.bytes_per_rank;
  Result<SharedArena> arena =
      create_shared_arena(own_base, place.bytes_per_rank - (place.self == Rank{0} ? place.break_bytes : 0),
                          place.block_bytes, place.ranks);
  if (!arena) return arena.error();
  arena_ = arena.value().index;
  pages_ = arena.value().pages;
  for (std::size_t i = 0; i < private_callers.size(); ++i) private_callers_[i] = private_callers[i];
  place_ = place;
  foreign_ = &foreign;
  all_ = {place.base, place.bytes_per_rank * place.ranks};
  own_ = {own_base, place.bytes_per_rank};
  large_bytes_.store(large_bytes(), std::memory_order_relaxed);
  return {};
}

bool Heap::bind_thread() noexcept {
  if (!thread_bound_) thread_bound_ = bind_thread_to_arena(arena_);
  return thread_bound_;
}

void Heap::give_back() noexcept {
  const int kept_errno = errno;
  pages_->give_back(*foreign_);
  errno = kept_errno;
}

// Address space that is never touched nor freed: a freed gap would become the next gap. Gaps would fill free
// pieces of used memory first, so those are skipped.
void Heap::leave_gap() noexcept {
  constexpr std::size_t tries = 8;
  if (gaps_.load(std::memory_order_relaxed) >= gaps_max) return;
  std::array<void*, tries> too_low{};
  const auto* const end_of_used = reinterpret_cast<const void*>(pages_->end_of_used());
  const int flags = jemalloc::arena(arena_) | jemalloc::no_thread_cache;
  for (void*& gap : too_low) {
    gap = musubi_je_mallocx(gap_blocks * place_.block_bytes, with_alignment(flags, place_.block_bytes));
    if (gap != nullptr && gap < end_of_used) continue;
    if (gap != nullptr) gaps_.fetch_add(1, std::memory_order_relaxed);
    gap = nullptr;
    break;
  }
  for (void* const gap : too_low) {
    if (gap != nullptr) musubi_je_dallocx(gap, jemalloc::no_thread_cache);
  }
}

void* Heap::allocate_here(std::size_t bytes, int flags) noexcept {
  if (bytes >= spread_from_blocks * place_.block_bytes) leave_gap();
  if (bytes >= aligned_from_blocks * place_.block_bytes) flags = with_alignment(flags, place_.block_bytes);
  if (!bind_thread()) flags |= jemalloc::arena(arena_) | jemalloc::no_thread_cache;
  void* const result =
      (flags & jemalloc::zero) != 0 ? allocate_zeroed_here(bytes, flags) : musubi_je_mallocx(bytes, flags);
  note_large(result, bytes);
  return result;
}

// jemalloc zeroes small sizes itself, piece by piece.
void* Heap::allocate_zeroed_here(std::size_t bytes, int flags) noexcept {
  if (bytes <= jemalloc::small_bytes_max) return musubi_je_mallocx(bytes, flags);
  const ZeroedMemory zeroed;
  void* const result = musubi_je_mallocx(bytes, flags);
  zeroed.clear(*pages_, *foreign_);
  return result;
}

void* Heap::allocate_other(std::size_t bytes, const void* caller, int flags) noexcept {
  if (bytes == 0) bytes = 1;
  void* result;
  if (own_.bytes == 0 || (is_private_caller(caller) && !serves_library_)) {
    result = flags == 0 ? stream_memory.take(bytes) : nullptr;
    if (result == nullptr) result = musubi_je_mallocx(bytes, flags | private_flags);
  } else {
    if (large_bytes_.load(std::memory_order_relaxed) == 0) take_back();
    result = allocate_here(bytes, flags);
    if (result == nullptr) {
      take_back();
      result = allocate_here(bytes, flags);
    }
  }
  if (result == nullptr) errno = ENOMEM;
  return result;
}

void Heap::take_back() noexcept {
  // Reset the mark first: memory that arrives from now on sets it again.
  large_bytes_.store(large_bytes(), std::memory_order_relaxed);
  foreign_->take_back();
}

void* Heap::allocate_zeroed(std::size_t count, std::size_t bytes, const void* caller) noexcept {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (total < large_bytes_.load(std::memory_order_relaxed) && thread_bound_ && !is_private_caller(caller)) {
    return total <= jemalloc::small_bytes_max ? musubi_je_calloc(1, total)
                                              : allocate_zeroed_here(total, jemalloc::zero);
  }
  return allocate_other(total, caller, jemalloc::zero);
}

void* Heap::allocate_aligned(std::size_t alignment, std::size_t bytes, const void* caller) noexcept {
  MUSUBI_CHECK(std::has_single_bit(alignment), "%zu is no alignment", alignment);
  return allocate_other(bytes, caller, jemalloc::align(alignment));
}

Rank Heap::owner_of(const void* pointer) const noexcept {
  MUSUBI_CHECK(is_shared(pointer), "%p is no address of the shared heap", pointer);
  return Rank{static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(pointer) - place_.base) /
                                         place_.bytes_per_rank)};
}

void Heap::release_other(void* pointer) noexcept {
  if (pointer == nullptr) return;
  const int kept_errno = errno;  // free(3) must keep it
  if (is_foreign(pointer)) {
    foreign_->release(owner_of(pointer), reinterpret_cast<std::uintptr_t>(pointer), 0);
  } else if (stream_memory.contains(pointer)) {
    stream_memory.give_back(pointer);
  } else {
    forget_large(pointer);
    musubi_je_dallocx(pointer, jemalloc::no_thread_cache);
    if (is_own(pointer) && pages_->is_due()) give_back();
  }
  errno = kept_errno;
}

void* Heap::resize(void* pointer, std::size_t bytes, const void* caller) noexcept {
  if (pointer == nullptr) return allocate(bytes, caller);
  if (bytes == 0) {  // as glibc does
    release(pointer);
    return nullptr;
  }
  if (is_foreign(pointer)) return resize_foreign(pointer, bytes);
  if (stream_memory.contains(pointer)) return resize_stream(pointer, bytes);
  int flags = 0;
  if (!is_own(pointer)) {
    flags = private_flags;
  } else {
    if (bytes >= aligned_from_blocks * place_.block_bytes) flags = jemalloc::align(place_.block_bytes);
    if (!bind_thread()) flags |= jemalloc::arena(arena_) | jemalloc::no_thread_cache;
  }
  const bool was_shared = is_own(pointer);
  const std::size_t bytes_before = was_shared ? musubi_je_sallocx(pointer, 0) : 0;
  forget_large(pointer);
  void* const result = musubi_je_rallocx(pointer, bytes, flags);
  if (result == nullptr) errno = ENOMEM;
  if (was_shared) {
    note_large(result != nullptr ? result : pointer, result != nullptr ? bytes : bytes_before);
    if (pages_->is_due()) give_back();
  }
  return result;
}

void* Heap::resize_foreign(void* pointer, std::size_t bytes) noexcept {
  const std::size_t old_bytes = usable_bytes(pointer);
  void* const result = allocate_shared(bytes);
  if (result == nullptr) return nullptr;
  std::memcpy(result, pointer, old_bytes < bytes ? old_bytes : bytes);
  release(pointer);
  return result;
}

// Memory that the C library allocated for a stream.
void* Heap::resize_stream(void* pointer, std::size_t bytes) noexcept {
  void* const result = musubi_je_mallocx(bytes, private_flags);
  if (result == nullptr) return nullptr;
  std::memcpy(result, pointer, std::min(StreamMemory::slot_bytes, bytes));
  release(pointer);
  return result;
}

std::size_t Heap::usable_bytes(const void* pointer) noexcept {
  if (pointer == nullptr) return 0;
  if (stream_memory.contains(pointer)) return StreamMemory::slot_bytes;
  if (is_foreign(pointer)) {
    return foreign_->usable_bytes(owner_of(pointer), reinterpret_cast<std::uintptr_t>(pointer));
  }
  return musubi_je_sallocx(pointer, 0);
}

std::size_t Heap::own_usable_bytes(std::uintptr_t address) noexcept {
  MUSUBI_CHECK(own_.contains(address), "0x%zx belongs to another rank", address);
  return musubi_je_sallocx(reinterpret_cast<void*>(address), 0);
}

AddressRange Heap::allocations_at(std::uintptr_t address) const noexcept {
  if (!own_.contains(address)) return all_;
  const AddressRange large = large_.around(address);
  return large.bytes != 0 ? large : own_;
}

void Heap::release_own(std::uintptr_t address) noexcept {
  MUSUBI_CHECK(own_.contains(address), "0x%zx belongs to another rank", address);
  forget_large(reinterpret_cast<void*>(address));
  musubi_je_dallocx(reinterpret_cast<void*>(address), jemalloc::no_thread_cache);
  if (pages_->is_due()) give_back();
}

}  // namespace musubi::heap
