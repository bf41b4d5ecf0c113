// operator new and delete in all their forms. libstdc++'s own would call malloc from within libstdc++, which
// works, but a static copy inlined into the program would not.
#include <dlfcn.h>

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/check.h"
#include "heap/heap.h"
#include "image/symbols/exported.h"

#define MUSUBI_OPERATOR __attribute__((visibility("default")))

using musubi::heap::process_heap;

namespace {

// This library has a hidden libstdc++ of its own; handlers and exceptions belong to the program's.
template <class Function>
Function of_the_program(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

// Null also if the alignment is no power of two.
void* try_allocate(std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return process_heap.allocate(bytes, caller);
  return std::has_single_bit(alignment) ? process_heap.allocate_aligned(alignment, bytes, caller) : nullptr;
}

// Calls the program's new-handler until memory is available. Result: null if there is no handler.
void* allocate_with_handler(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (!std::has_single_bit(alignment)) return nullptr;  // no handler helps
  const auto get_handler = of_the_program<std::new_handler (*)()>("_ZSt15get_new_handlerv");
  while (true) {
    const std::new_handler handler = get_handler == nullptr ? nullptr : get_handler();
    if (handler == nullptr) return nullptr;
    handler();
    if (void* const memory = try_allocate(bytes, alignment, caller)) return memory;
  }
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (void* const memory = try_allocate(bytes, alignment, caller)) [[likely]]
    return memory;
  if (void* const memory = allocate_with_handler(bytes, alignment, caller)) return memory;
  const auto throw_bad_alloc = of_the_program<void (*)()>("_ZSt17__throw_bad_allocv");
  if (throw_bad_alloc != nullptr) throw_bad_alloc();
  std::abort();
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  if (void* const memory = try_allocate(bytes, alignment, caller)) [[likely]]
    return memory;
  return allocate_with_handler(bytes, alignment, caller);
}

}  // namespace

using Alignment = std::align_val_t;
using NoThrow = const std::nothrow_t&;

MUSUBI_OPERATOR void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 1, MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 1, MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new(std::size_t bytes, NoThrow) noexcept {
  return allocate_or_null(bytes, 1, MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new[](std::size_t bytes, NoThrow) noexcept {
  return allocate_or_null(bytes, 1, MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new(std::size_t bytes, Alignment alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment), MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new[](std::size_t bytes, Alignment alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment), MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new(std::size_t bytes, Alignment alignment, NoThrow) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment), MUSUBI_CALLER);
}
MUSUBI_OPERATOR void* operator new[](std::size_t bytes, Alignment alignment, NoThrow) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment), MUSUBI_CALLER);
}

MUSUBI_OPERATOR void operator delete(void* pointer) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete(void* pointer, NoThrow) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer, NoThrow) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete(void* pointer, std::size_t) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer, std::size_t) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete(void* pointer, Alignment) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer, Alignment) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete(void* pointer, Alignment, NoThrow) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer, Alignment, NoThrow) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete(void* pointer, std::size_t, Alignment) noexcept {
  process_heap.release(pointer);
}
MUSUBI_OPERATOR void operator delete[](void* pointer, std::size_t, Alignment) noexcept {
  process_heap.release(pointer);
}
