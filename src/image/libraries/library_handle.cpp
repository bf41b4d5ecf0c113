#include "image/libraries/library_handle.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace musubi::image {
namespace {

// Programs that know the layout of a glibc handle read it as a link_map.
struct Handle {
  link_map shown;
  link_map* object;
  const Handle* next;
};

// The C library's dlsym passes no argument of ours. Handles are never removed.
constinit std::atomic<const Handle*> newest{nullptr};

}  // namespace

bool make_handles(const std::vector<link_map*>& objects, std::uintptr_t& next) {
  if (objects.empty()) return true;
  const std::size_t bytes = objects.size() * sizeof(Handle);
  void* const wanted = reinterpret_cast<void*>(next);
  void* const memory =
      ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory != wanted) return false;
  auto* at = static_cast<Handle*>(memory);
  for (link_map* object : objects) {
    newest.store(new (at++) Handle{*object, object, newest.load()});
  }
  next += bytes;
  return true;
}

void* handle_of_job(void* handle) noexcept {
  for (const Handle* at = newest.load(); at != nullptr; at = at->next) {
    if (at->object == handle) return const_cast<Handle*>(at);
  }
  return handle;
}

void* handle_of_process(void* handle) noexcept {
  for (const Handle* at = newest.load(); at != nullptr; at = at->next) {
    if (at == handle) return at->object;
  }
  return handle;
}

}  // namespace musubi::image
