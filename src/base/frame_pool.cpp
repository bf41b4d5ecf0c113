#include "base/frame_pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "base/check.h"
#include "base/spin_lock.h"

namespace musubi {
namespace {

// Size classes: steps of 64 bytes up to 4 KiB, then steps of 4 KiB. Frames of tasks that fetch runs of blocks
// are among the larger ones, and each miss of a stream makes one.
constexpr std::size_t small_step = 64, small_classes = 64, small_max = small_step * small_classes;
constexpr std::size_t large_step = small_max, frame_bytes_max = 8 * large_step;
constexpr std::size_t class_count = small_classes + frame_bytes_max / large_step;  // [0] stays empty
constexpr std::size_t chunk_bytes = 256 * 1024;
// The bound of a pool's list of one class. The thread that resumes a task frees its frame, not the thread
// that made it. Without a bound, frames would pile up in the pools of threads that sleep a lot.
constexpr std::size_t kept_bytes = 64 * 1024, kept_least = 4;

constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= small_max) return std::max<std::size_t>((bytes + small_step - 1) / small_step, 1);
  return small_classes - 1 + (bytes + large_step - 1) / large_step;
}
constexpr std::size_t bytes_of(std::size_t index) {
  return index <= small_classes ? index * small_step : (index - small_classes + 1) * large_step;
}
static_assert(class_of(small_max + 1) == small_classes + 1 && class_of(frame_bytes_max) < class_count);
static_assert(bytes_of(class_of(frame_bytes_max)) == frame_bytes_max);

constexpr std::size_t kept_max(std::size_t index) {
  return std::max(kept_bytes / bytes_of(index), kept_least);
}

struct FreeFrame {
  FreeFrame* next;
};

struct FrameList {
  FreeFrame* first;
  std::size_t count;

  void push(FreeFrame* frame) {
    frame->next = first;
    first = frame;
    ++count;
  }
  FreeFrame* pop() {
    FreeFrame* const frame = first;
    first = frame->next;
    --count;
    return frame;
  }
  void move_to(FrameList& other, std::size_t most) {
    for (std::size_t moved = std::min(most, count); moved != 0; --moved) other.push(pop());
  }
};

// Used by one thread at a time. A pool outlives its thread, and the next thread without a pool takes it over.
struct Pool {
  FrameList free[class_count];
  char* cursor;
  char* end;
  std::atomic<std::uint64_t> owner;  // thread id; the upper bits count the changes of owner
  Pool* next;                        // in the list of all pools
};

// A thread that takes a pool over sees all writes of the ended thread, because the kernel has reported its
// end. The thread sanitizer does not know that and must be told.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
void note_use(Pool& pool) noexcept {
  __tsan_release(&pool);
}
void note_adoption(Pool& pool) noexcept {
  __tsan_acquire(&pool);
}
#else
void note_use(Pool&) noexcept {}
void note_adoption(Pool&) noexcept {}
#endif

// Constant-initialised and trivially destructible: usable in a signal handler and while a thread ends. A
// pointer, because thread-local storage may be on a stack in shared memory: the lists in it would be changes
// to release at every barrier.
constinit thread_local Pool* pool_of_thread = nullptr;

// Global for the same reason as the thread-local pointer: signal handlers make frames. The lock is only
// tried: a handler may have interrupted its holder.
constinit struct {
  SpinLock lock;
  FrameList free[class_count] MUSUBI_GUARDED_BY(lock){};  // frames beyond the bounds of the pools
  std::atomic<Pool*> pools{nullptr};                      // the list of all pools
  std::atomic<Pool*> next_look{nullptr};                  // the next pool to test for an ended thread
  std::atomic<std::size_t> mapped_bytes{0};
} common;

void* map(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUSUBI_CHECK(memory != MAP_FAILED, "no memory for task frames");
  common.mapped_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

std::uint32_t thread_id() noexcept {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

// Whether the thread has ended; the calling thread may have its number by now.
bool has_ended(std::uint32_t thread) noexcept {
  if (thread == thread_id()) return true;
  const int kept_errno = errno;
  const bool ended = ::syscall(SYS_tgkill, ::syscall(SYS_getpid), thread, 0) != 0 && errno == ESRCH;
  errno = kept_errno;
  return ended;
}

// A pool whose thread has ended, or null. Tests a bounded number of pools; the next call continues where this
// one stops.
Pool* adopt() noexcept {
  constexpr unsigned looks_max = 64;
  Pool* pool = common.next_look.load();
  const Pool* first = nullptr;
  for (unsigned look = 0; look < looks_max; ++look) {
    if (pool == nullptr) pool = common.pools.load();
    if (pool == nullptr || pool == first) return nullptr;
    if (first == nullptr) first = pool;
    std::uint64_t owner = pool->owner.load();
    if (has_ended(static_cast<std::uint32_t>(owner))) {
      const std::uint64_t mine = ((owner >> 32) + 1) << 32 | thread_id();
      if (pool->owner.compare_exchange_strong(owner, mine)) {
        note_adoption(*pool);
        common.next_look.store(pool->next);
        return pool;
      }
    }
    pool = pool->next;
  }
  common.next_look.store(pool);
  return nullptr;
}

Pool* make_pool() noexcept {
  auto* const chunk = static_cast<char*>(map(chunk_bytes));
  constexpr std::size_t behind_pool = (sizeof(Pool) + small_step - 1) / small_step * small_step;
  Pool* const pool = new (chunk) Pool{};
  pool->cursor = chunk + behind_pool;
  pool->end = chunk + chunk_bytes;
  pool->owner.store(thread_id());
  pool->next = common.pools.load();
  while (!common.pools.compare_exchange_weak(pool->next, pool)) {
  }
  return pool;
}

[[gnu::noinline]] Pool& first_pool_here() noexcept {
  Pool* pool = adopt();
  if (pool == nullptr) pool = make_pool();
  pool_of_thread = pool;
  return *pool;
}

Pool& pool_here() noexcept {
  Pool* const pool = pool_of_thread;
  return pool != nullptr ? *pool : first_pool_here();
}

void give_half_to_common(FrameList& list, std::size_t index) noexcept {
  if (!common.lock.try_lock()) return;  // retry with the next frame
  list.move_to(common.free[index], list.count / 2);
  common.lock.unlock();
}

void take_from_common(FrameList& list, std::size_t index) noexcept {
  if (!common.lock.try_lock()) return;
  common.free[index].move_to(list, kept_max(index) / 2);
  common.lock.unlock();
}

void* carve(Pool& pool, std::size_t bytes) noexcept {
  if (static_cast<std::size_t>(pool.end - pool.cursor) < bytes) {
    pool.cursor = static_cast<char*>(map(chunk_bytes));
    pool.end = pool.cursor + chunk_bytes;
  }
  void* const frame = pool.cursor;
  pool.cursor += bytes;
  return frame;
}

}  // namespace

void* frame_allocate(std::size_t bytes) noexcept {
  const std::size_t index = class_of(bytes);
  if (index >= class_count) return map(bytes);
  Pool& pool = pool_here();
  FrameList& list = pool.free[index];
  if (list.first == nullptr) take_from_common(list, index);
  void* const frame = list.first != nullptr ? list.pop() : carve(pool, bytes_of(index));
  note_use(pool);
  return frame;
}

void frame_free(void* frame, std::size_t bytes) noexcept {
  const std::size_t index = class_of(bytes);
  if (index >= class_count) {
    ::munmap(frame, bytes);
    return;
  }
  Pool& pool = pool_here();
  FrameList& list = pool.free[index];
  list.push(static_cast<FreeFrame*>(frame));
  if (list.count > kept_max(index)) give_half_to_common(list, index);
  note_use(pool);
}

std::size_t frame_bytes_mapped() noexcept {
  return common.mapped_bytes.load(std::memory_order_relaxed);
}

}  // namespace musubi
