#include "omp/allocators.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"

namespace musubi::omp {
namespace {

// LLVM has numbers up to 1024 for memory of devices, which is ours as well.
constexpr AllocatorHandle default_allocator = 1, predefined_max = 1024;
constexpr std::uintptr_t space_max = 4, device_space_first = 100, device_space_last = 102;

// omp_alloctrait_key_t and omp_alloctrait_value_t.
namespace keys {
constexpr int sync_hint = 1, alignment = 2, access = 3, pool_size = 4, fallback = 5, fallback_data = 6,
              pinned = 7, partition = 8;
}
namespace values {
constexpr std::uintptr_t by_default = ~std::uintptr_t{0}, no = 0, contended = 3, private_hint = 6, all = 7,
                         cgroup = 10, default_memory = 11, null = 12, abort = 13, allocator = 14,
                         environment = 15, interleaved = 18;
}

// An allocator made by the program, in shared memory; its handle is the address.
struct Allocator {
  std::size_t alignment = 1;
  std::uint64_t pool_bytes = ~std::uint64_t{0};
  std::uintptr_t fallback = values::default_memory;
  AllocatorHandle fallback_data = 0;
  std::uint64_t used_bytes = 0;  // of the pool; changed only by exactly()

  bool has_pool() const { return pool_bytes != ~std::uint64_t{0}; }
};

Allocator* made_by_program(AllocatorHandle handle) {
  return handle > predefined_max ? reinterpret_cast<Allocator*>(handle) : nullptr;
}

// Precedes each allocation.
struct Header {
  void* start;
  std::size_t bytes;
  AllocatorHandle allocator;
};

Header* header_of(void* address) {
  return static_cast<Header*>(address) - 1;
}

// An atomic operation on a word that the threads of all ranks change. Result: the old value.
std::uint64_t exactly(std::uint64_t& word, AtomicOperation::Kind kind, std::uint64_t operand,
                      std::uint64_t compare = 0) {
  Job* job = Job::current();
  const auto address = reinterpret_cast<std::uintptr_t>(&word);
  if (job != nullptr && job->ranks > 1 && job->runtime.memory().is_shared(address)) {
    return static_cast<std::uint64_t>(
        job->runtime.synchronization().atomic(address, {kind, sizeof word, operand, compare}));
  }
  switch (kind) {
    case AtomicOperation::Kind::subtract:
      return __atomic_fetch_sub(&word, operand, __ATOMIC_ACQ_REL);
    case AtomicOperation::Kind::compare_exchange:
      __atomic_compare_exchange_n(&word, &compare, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      return compare;
    default:
      return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  }
}

bool take_from_pool(Allocator& allocator, std::uint64_t bytes) {
  std::uint64_t used = exactly(allocator.used_bytes, AtomicOperation::Kind::load, 0);
  while (true) {
    if (bytes > allocator.pool_bytes || used > allocator.pool_bytes - bytes) return false;
    const std::uint64_t seen =
        exactly(allocator.used_bytes, AtomicOperation::Kind::compare_exchange, used + bytes, used);
    if (seen == used) return true;
    used = seen;
  }
}

void give_back_to_pool(AllocatorHandle handle, std::uint64_t bytes) {
  Allocator* allocator = made_by_program(handle);
  if (allocator == nullptr || !allocator->has_pool()) return;
  exactly(allocator->used_bytes, AtomicOperation::Kind::subtract, bytes);
}

bool has_pool(AllocatorHandle handle) {
  const Allocator* allocator = made_by_program(handle);
  return allocator != nullptr && allocator->has_pool();
}

// Allocates from the heap, without regard to pools. Null if the heap is full. An alignment that is no power
// of two becomes the next one, as in libgomp.
void* place(std::size_t alignment, std::size_t bytes, AllocatorHandle handle) {
  const Allocator* allocator = made_by_program(handle);
  constexpr std::size_t smallest_alignment = 16;
  alignment = std::max({alignment, smallest_alignment, allocator != nullptr ? allocator->alignment : 1});
  constexpr std::size_t largest_alignment = SIZE_MAX / 2 + 1;
  if (alignment > largest_alignment) return nullptr;
  alignment = std::bit_ceil(alignment);
  const std::size_t front = (sizeof(Header) + alignment - 1) / alignment * alignment;
  if (bytes > SIZE_MAX - front) return nullptr;
  void* start = allocate_shared(alignment, front + bytes);
  if (start == nullptr) return nullptr;
  void* address = static_cast<std::byte*>(start) + front;
  *header_of(address) = {start, bytes, handle};
  return address;
}

// Without the fallback. Null if the pool or the heap is exhausted.
void* try_allocate(std::size_t alignment, std::size_t bytes, AllocatorHandle handle) {
  if (has_pool(handle) && !take_from_pool(*made_by_program(handle), bytes)) return nullptr;
  void* address = place(alignment, bytes, handle);
  if (address == nullptr) give_back_to_pool(handle, bytes);
  return address;
}

// Resizes in the same pool, which then counts the new size instead of the old one. Null if that does not fit.
void* resize_in_pool(void* address, std::size_t bytes) {
  const Header old = *header_of(address);
  const std::size_t more = bytes > old.bytes ? bytes - old.bytes : 0;
  if (!take_from_pool(*made_by_program(old.allocator), more)) return nullptr;
  void* fresh = place(1, bytes, old.allocator);
  if (fresh == nullptr) {
    give_back_to_pool(old.allocator, more);
    return nullptr;
  }
  std::memcpy(fresh, address, std::min(bytes, old.bytes));
  free_shared(old.start);
  if (bytes < old.bytes) give_back_to_pool(old.allocator, old.bytes - bytes);
  return fresh;
}

[[noreturn]] void end_for_memory(std::size_t bytes) {
  end_job(Job::require("omp_alloc").runtime,
          "an OpenMP allocator has no memory for " + std::to_string(bytes) +
              " bytes, and no fallback: raise its pool_size, or MUSUBI_HEAP_BYTES");
}

// The allocator to try next, or 0: none.
AllocatorHandle fallback_of(AllocatorHandle handle, std::size_t bytes) {
  if (handle == default_allocator) return 0;
  const Allocator* allocator = made_by_program(handle);
  if (allocator == nullptr) return default_allocator;
  switch (allocator->fallback) {
    case values::null:
      return 0;
    case values::abort:
      end_for_memory(bytes);
    case values::allocator:
      return allocator->fallback_data;
    default:
      return default_allocator;
  }
}

// Adopts the trait. Result: whether it is valid and supported.
bool apply(const AllocatorTrait& trait, Allocator& allocator) {
  const std::uintptr_t value = trait.value;
  const auto within = [value](std::uintptr_t first, std::uintptr_t last) {
    return value == values::by_default || (value >= first && value <= last);
  };
  switch (trait.key) {
    case keys::sync_hint:
      return within(values::contended, values::private_hint);
    case keys::access:
      return within(values::all, values::cgroup);
    case keys::partition:
      return within(values::environment, values::interleaved);
    case keys::pinned:
      return value == values::by_default || value == values::no;
    case keys::alignment:
      if (value == values::by_default) return true;
      allocator.alignment = value;
      return value != 0 && (value & (value - 1)) == 0;
    case keys::pool_size:
      allocator.pool_bytes = value;  // the default is no bound
      return true;
    case keys::fallback:
      if (value != values::by_default) allocator.fallback = value;
      return within(values::default_memory, values::allocator);
    case keys::fallback_data:
      allocator.fallback_data = value == values::by_default ? 0 : value;
      return true;
    default:
      return false;
  }
}

}  // namespace

AllocatorHandle make_allocator(std::uintptr_t space, std::span<const AllocatorTrait> traits) {
  Allocator allocator;
  if (space > space_max && (space < device_space_first || space > device_space_last)) return 0;
  for (const AllocatorTrait& trait : traits) {
    if (!apply(trait, allocator)) return 0;
  }
  auto* kept = static_cast<Allocator*>(allocate_shared(alignof(Allocator), sizeof(Allocator)));
  if (kept != nullptr) *kept = allocator;
  return reinterpret_cast<AllocatorHandle>(kept);
}

void destroy_allocator(AllocatorHandle allocator) {
  if (Allocator* made = made_by_program(allocator)) free_shared(made);
}

void* allocate(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator) {
  if (bytes == 0) return nullptr;
  if (allocator == 0) allocator = current_task().icv.allocator;
  constexpr int fallbacks_max = 64;  // allocators may name each other
  for (int tries = 0; allocator != 0 && tries < fallbacks_max; ++tries) {
    if (void* address = try_allocate(alignment, bytes, allocator)) return address;
    allocator = fallback_of(allocator, bytes);
  }
  return nullptr;
}

void* allocate_or_end(std::size_t alignment, std::size_t bytes, AllocatorHandle allocator) {
  void* address = allocate(alignment, bytes, allocator);
  if (address == nullptr && bytes != 0) end_for_memory(bytes);
  return address;
}

void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t bytes,
                      AllocatorHandle allocator) {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) return nullptr;
  void* address = allocate(alignment, total, allocator);
  if (address != nullptr) std::memset(address, 0, total);
  return address;
}

void* reallocate(void* address, std::size_t bytes, AllocatorHandle allocator) {
  if (address == nullptr) return allocate(1, bytes, allocator);
  if (allocator == 0) allocator = header_of(address)->allocator;
  if (bytes != 0 && allocator == header_of(address)->allocator && has_pool(allocator)) {
    if (void* resized = resize_in_pool(address, bytes)) return resized;
  }
  void* fresh = allocate(1, bytes, allocator);
  if (fresh == nullptr && bytes != 0) return nullptr;
  if (fresh != nullptr) std::memcpy(fresh, address, std::min(bytes, header_of(address)->bytes));
  free_allocation(address);
  return fresh;
}

void free_allocation(void* address) {
  if (address == nullptr) return;
  const Header header = *header_of(address);
  free_shared(header.start);
  give_back_to_pool(header.allocator, header.bytes);
}

}  // namespace musubi::omp
