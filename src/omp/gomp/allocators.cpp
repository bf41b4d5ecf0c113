// omp_alloc and its family: memory that all ranks share, whatever memory space was named. Of an allocator's
// traits the alignment is kept; the others ask for qualities that a request may lack.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "omp/gomp/entry.h"
#include "omp/shared_memory.h"

using namespace musubi::omp;

namespace {

using Allocator = std::uintptr_t;  // omp_allocator_handle_t

constexpr Allocator predefined_max = 8;
constexpr Allocator default_allocator = 1;
constexpr int trait_alignment = 2;

struct Trait {  // omp_alloctrait_t
  int key;
  std::uintptr_t value;
};

// What an allocator made by the program points to.
struct Traits {
  std::size_t alignment;
};

// In front of each allocation: its size, for omp_realloc, and where it starts.
struct Header {
  void* start;
  std::size_t bytes;
};

Header* header_of(void* address) {
  return static_cast<Header*>(address) - 1;
}

std::size_t alignment_of(Allocator allocator) {
  constexpr std::size_t smallest = 16;
  return allocator > predefined_max
             ? std::max(smallest, reinterpret_cast<const Traits*>(allocator)->alignment)
             : smallest;
}

void* allocate(std::size_t alignment, std::size_t bytes, Allocator allocator) {
  if (bytes == 0) return nullptr;
  alignment = std::max(alignment, alignment_of(allocator));
  const std::size_t front = std::max(alignment, sizeof(Header));
  if (bytes > SIZE_MAX - front) return nullptr;
  void* start = allocate_shared(alignment, front + bytes);
  if (start == nullptr) return nullptr;
  void* address = static_cast<std::byte*>(start) + front;
  *header_of(address) = {start, bytes};
  return address;
}

void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t bytes, Allocator allocator) {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) return nullptr;
  void* address = allocate(alignment, total, allocator);
  if (address != nullptr) std::memset(address, 0, total);
  return address;
}

void free_allocation(void* address) {
  if (address != nullptr) free_shared(header_of(address)->start);
}

Allocator make_allocator(int count, const Trait* traits) {
  auto* kept = static_cast<Traits*>(allocate_shared(alignof(Traits), sizeof(Traits)));
  if (kept == nullptr) return 0;
  *kept = {1};
  for (int i = 0; i < count; ++i) {
    const bool power_of_two = traits[i].value != 0 && (traits[i].value & (traits[i].value - 1)) == 0;
    if (traits[i].key == trait_alignment && power_of_two) kept->alignment = traits[i].value;
  }
  return reinterpret_cast<Allocator>(kept);
}

// def-allocator-var, per thread as the specification has it (inherited by no one: the default is good
// everywhere).
thread_local constinit Allocator default_of_thread = default_allocator;

}  // namespace

extern "C" {

MUSUBI_EXPORT void* omp_alloc(std::size_t bytes, Allocator allocator) {
  return allocate(1, bytes, allocator);
}
MUSUBI_EXPORT void* omp_aligned_alloc(std::size_t alignment, std::size_t bytes, Allocator allocator) {
  return allocate(alignment, bytes, allocator);
}
MUSUBI_EXPORT void* omp_calloc(std::size_t count, std::size_t bytes, Allocator allocator) {
  return allocate_zeroed(1, count, bytes, allocator);
}
MUSUBI_EXPORT void* omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t bytes,
                                       Allocator allocator) {
  return allocate_zeroed(alignment, count, bytes, allocator);
}
MUSUBI_EXPORT void omp_free(void* address, Allocator /*allocator*/) {
  free_allocation(address);
}

MUSUBI_EXPORT void* omp_realloc(void* address, std::size_t bytes, Allocator allocator,
                                Allocator /*free_allocator*/) {
  void* fresh = allocate(1, bytes, allocator);
  if (fresh == nullptr && bytes != 0) return nullptr;
  if (address != nullptr && fresh != nullptr) {
    std::memcpy(fresh, address, std::min(bytes, header_of(address)->bytes));
  }
  free_allocation(address);
  return fresh;
}

// The compiler's calls for `allocate` clauses and directives.
MUSUBI_EXPORT void* GOMP_alloc(std::size_t alignment, std::size_t bytes, std::uintptr_t allocator) {
  return allocate(alignment, bytes, allocator);
}
MUSUBI_EXPORT void GOMP_free(void* address, std::uintptr_t /*allocator*/) {
  free_allocation(address);
}

MUSUBI_EXPORT Allocator omp_init_allocator(std::uintptr_t /*space*/, int count, const Trait* traits) {
  return make_allocator(count, traits);
}
MUSUBI_EXPORT Allocator omp_init_allocator_(const std::uintptr_t* /*space*/, const int* count,
                                            const Trait* traits) {
  return make_allocator(*count, traits);
}
MUSUBI_EXPORT Allocator omp_init_allocator_8_(const std::uintptr_t* /*space*/, const long* count,
                                              const Trait* traits) {
  return make_allocator(static_cast<int>(*count), traits);
}
MUSUBI_EXPORT void omp_destroy_allocator(Allocator allocator) {
  if (allocator > predefined_max) free_shared(reinterpret_cast<void*>(allocator));
}
MUSUBI_EXPORT void omp_destroy_allocator_(const Allocator* allocator) {
  omp_destroy_allocator(*allocator);
}
MUSUBI_EXPORT void omp_set_default_allocator(Allocator allocator) {
  default_of_thread = allocator == 0 ? default_allocator : allocator;
}
MUSUBI_EXPORT void omp_set_default_allocator_(const Allocator* allocator) {
  omp_set_default_allocator(*allocator);
}
MUSUBI_EXPORT Allocator omp_get_default_allocator() {
  return default_of_thread;
}
MUSUBI_EXPORT Allocator omp_get_default_allocator_() {
  return default_of_thread;
}

}  // extern "C"
