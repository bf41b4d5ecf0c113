#include "base/frame_pool.h"

#include <sys/mman.h>

#include <new>

#include "base/check.h"

namespace musubi {
namespace {

constexpr std::size_t class_bytes = 64;  // granularity of the size classes
constexpr std::size_t class_count = 64;  // frames up to 4 KiB; larger ones go to mmap directly
constexpr std::size_t chunk_bytes = 256 * 1024;

struct FreeFrame {
  FreeFrame* next;
};

struct Pool {
  FreeFrame* free[class_count];
  char* cursor;
  char* end;
};

// Constant-initialised and trivially destructible: usable in a signal handler and while a thread ends.
// What a thread leaves in its lists when it ends is not given back: pools of threads are small and few.
// A pointer, as thread-local storage may lie on a stack that is shared memory: the lists in it would be
// changes to be released at every barrier.
constinit thread_local Pool* pool_of_thread = nullptr;

void* map(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUSUBI_CHECK(memory != MAP_FAILED, "no memory for task frames");
  return memory;
}

Pool& pool_here() noexcept {
  if (pool_of_thread == nullptr) {
    auto* chunk = static_cast<char*>(map(chunk_bytes));
    constexpr std::size_t behind_pool = (sizeof(Pool) + class_bytes - 1) / class_bytes * class_bytes;
    pool_of_thread = new (chunk) Pool{{}, chunk + behind_pool, chunk + chunk_bytes};
  }
  return *pool_of_thread;
}

}  // namespace

void* frame_allocate(std::size_t bytes) noexcept {
  const std::size_t index = (bytes + class_bytes - 1) / class_bytes;
  if (index >= class_count) return map(bytes);
  Pool& pool = pool_here();
  if (FreeFrame* frame = pool.free[index]) {
    pool.free[index] = frame->next;
    return frame;
  }
  const std::size_t rounded = index * class_bytes;
  if (static_cast<std::size_t>(pool.end - pool.cursor) < rounded) {
    pool.cursor = static_cast<char*>(map(chunk_bytes));
    pool.end = pool.cursor + chunk_bytes;
  }
  void* frame = pool.cursor;
  pool.cursor += rounded;
  return frame;
}

void frame_free(void* frame, std::size_t bytes) noexcept {
  const std::size_t index = (bytes + class_bytes - 1) / class_bytes;
  if (index >= class_count) {
    ::munmap(frame, bytes);
    return;
  }
  Pool& pool = pool_here();
  auto* free = static_cast<FreeFrame*>(frame);
  free->next = pool.free[index];
  pool.free[index] = free;
}

}  // namespace musubi
