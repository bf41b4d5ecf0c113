// malloc's family, as glibc 2.36 exports it.
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "heap/heap.h"
#include "image/symbols/exported.h"

using musubi::heap::process_heap;

namespace {

std::size_t page_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
bool is_power_of_two(std::size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// glibc's memalign rounds the alignment up to a power of two.
void* allocate_aligned(std::size_t alignment, std::size_t bytes, const void* caller) {
  std::size_t rounded = sizeof(void*);
  while (rounded < alignment && rounded <= (~std::size_t{0} >> 2)) rounded *= 2;
  return process_heap.allocate_aligned(rounded, bytes, caller);
}

}  // namespace

MUSUBI_EXPORT void* malloc(std::size_t bytes) noexcept {
  return process_heap.allocate(bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT void free(void* pointer) noexcept {
  process_heap.release(pointer);
}
MUSUBI_EXPORT void cfree(void* pointer) noexcept {
  process_heap.release(pointer);
}

MUSUBI_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return process_heap.allocate_zeroed(count, bytes, MUSUBI_CALLER);
}

MUSUBI_EXPORT void* realloc(void* pointer, std::size_t bytes) noexcept {
  return process_heap.resize(pointer, bytes, MUSUBI_CALLER);
}

MUSUBI_EXPORT void* reallocarray(void* pointer, std::size_t count, std::size_t bytes) noexcept {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return process_heap.resize(pointer, total, MUSUBI_CALLER);
}

MUSUBI_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int kept_errno = errno;  // the error is the result
  void* const memory = process_heap.allocate_aligned(alignment, bytes, MUSUBI_CALLER);
  errno = kept_errno;
  if (memory == nullptr) return ENOMEM;
  *result = memory;
  return 0;
}

MUSUBI_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT void* valloc(std::size_t bytes) noexcept {
  return process_heap.allocate_aligned(page_bytes(), bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t page = page_bytes();
  std::size_t rounded;
  if (__builtin_add_overflow(bytes, page - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  return process_heap.allocate_aligned(page, rounded & ~(page - 1), MUSUBI_CALLER);
}

MUSUBI_EXPORT std::size_t malloc_usable_size(void* pointer) noexcept {
  return process_heap.usable_bytes(pointer);
}
