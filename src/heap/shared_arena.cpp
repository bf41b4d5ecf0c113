#include "heap/shared_arena.h"

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <bit>
#include <string>

#include "base/check.h"
#include "heap/jemalloc.h"
#include "os/clock.h"
#include "os/memory.h"

// Read by jemalloc when it starts. One arena is enough for all private memory, which is little.
const char* musubi_je_malloc_conf = "narenas:1";
// Overrides /etc/malloc.conf and MALLOC_CONF, which are meant for the program's own jemalloc: their options
// would make it write to shared memory that no one has asked for.
const char* musubi_je_malloc_conf_last = "junk:false,zero:false,hpa:false,tcache:true";

namespace musubi::heap {
namespace {

// The part of the heap that has never been allocated. The hooks get no argument of ours except their own
// address: hence the struct derives from the hooks.
struct Region : jemalloc::ExtentHooks {
  std::atomic<std::uintptr_t> next{0};
  std::uintptr_t end = 0;
  FreePages* pages = nullptr;
  bool is_being_made = true;  // one thread takes the range and returns it, untouched
};

// jemalloc keeps the address of the hooks for good.
constinit Region region{};
constinit thread_local ZeroedMemory* zeroed_of_thread = nullptr;

// By a cheap clock: milliseconds are precise enough.
std::uint64_t now_ns() noexcept {
  return os::clock_ns(CLOCK_MONOTONIC_COARSE);
}

void come_into_use(std::uintptr_t begin, std::size_t bytes) noexcept {
  if (region.is_being_made) return;
  region.pages->take(begin, bytes, now_ns());
  if (zeroed_of_thread != nullptr) zeroed_of_thread->note({begin, bytes});
}

void* take_fresh(jemalloc::ExtentHooks*, void* wanted, std::size_t bytes, std::size_t alignment, bool* zero,
                 bool* commit, unsigned) {
  MUSUBI_CHECK(std::has_single_bit(alignment) && region.end != 0);
  if (wanted != nullptr) return nullptr;  // growing in place at an address: jemalloc then tries elsewhere
  std::uintptr_t next = region.next.load(std::memory_order_relaxed);
  std::uintptr_t begin;
  do {
    begin = (next + alignment - 1) & ~(alignment - 1);
    if (begin > region.end || region.end - begin < bytes) return nullptr;
  } while (!region.next.compare_exchange_weak(next, begin + bytes, std::memory_order_relaxed));
  *zero = true;
  if (*commit) come_into_use(begin, bytes);
  return reinterpret_cast<void*>(begin);
}

// "Committed" means in use. Memory not in use counts as zeros: FreePages records the exceptions, and
// ZeroedMemory zeroes them.
bool commit(jemalloc::ExtentHooks*, void* address, std::size_t, std::size_t offset, std::size_t bytes,
            unsigned) {
  come_into_use(reinterpret_cast<std::uintptr_t>(address) + offset, bytes);
  return false;
}
bool decommit(jemalloc::ExtentHooks*, void* address, std::size_t, std::size_t offset, std::size_t bytes,
              unsigned) {
  if (!region.is_being_made)
    region.pages->add(reinterpret_cast<std::uintptr_t>(address) + offset, bytes, now_ns());
  return false;
}

// The range is one mapping: its extents can be split and merged anywhere.
bool split(jemalloc::ExtentHooks*, void*, std::size_t bytes, std::size_t first, std::size_t second, bool,
           unsigned) {
  MUSUBI_CHECK(first + second == bytes);
  return false;
}
bool merge(jemalloc::ExtentHooks*, void* first, std::size_t first_bytes, void* second, std::size_t, bool,
           unsigned) {
  return static_cast<char*>(first) + first_bytes != second;
}

template <class Value>
bool set_of_arena(unsigned arena, const char* name, Value value) {
  const std::string path = "arena." + std::to_string(arena) + "." + name;
  return musubi_je_mallctl(path.c_str(), nullptr, nullptr, &value, sizeof value) == 0;
}

// jemalloc merges free neighbours only if one call of the hook returned them: so it takes most of the range
// as one piece, and frees that piece.
void take_range(unsigned arena, std::size_t bytes) {
  const int flags = jemalloc::arena(arena) | jemalloc::no_thread_cache;
  void* piece = nullptr;
  for (std::size_t eighths = 8; piece == nullptr && eighths > 0; --eighths) {
    piece = musubi_je_mallocx(bytes / 8 * eighths, flags);
  }
  if (piece == nullptr) return;  // then it grows step by step
  musubi_je_dallocx(piece, jemalloc::no_thread_cache);
  musubi_je_mallctl(("arena." + std::to_string(arena) + ".purge").c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace

ZeroedMemory::ZeroedMemory() noexcept {
  MUSUBI_CHECK(zeroed_of_thread == nullptr);
  zeroed_of_thread = this;
}
ZeroedMemory::~ZeroedMemory() {
  zeroed_of_thread = nullptr;
}

Result<SharedArena> create_shared_arena(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes,
                                        std::uint32_t ranks) {
  MUSUBI_CHECK(region.end == 0 && base % os::page_bytes() == 0 && bytes > 0);
  region.alloc = take_fresh;
  region.commit = commit;
  region.decommit = decommit;
  region.split = split;
  region.merge = merge;
  region.next.store(base, std::memory_order_relaxed);
  region.end = base + bytes;
  region.pages = new FreePages(base, bytes, block_bytes, ranks);
  jemalloc::ArenaConfig config{&region, false};
  unsigned arena = 0;
  std::size_t arena_bytes = sizeof arena;
  // Not "arenas.create": that would store the allocator's own data in the arena's memory.
  if (musubi_je_mallctl("experimental.arenas_create_ext", &arena, &arena_bytes, &config, sizeof config) !=
      0) {
    return Error{"no memory for the data of the shared heap: raise the memory limit of the process"};
  }
  take_range(arena, bytes);
  region.is_being_made = false;
  // Free memory merges with the free rest of the range at once, the only place where jemalloc merges small
  // pieces. While it counts as dirty it stays split, and the next phase of other sizes takes fresh memory.
  // The rest that take_range leaves is taken in small steps, because growing steps would not fit.
  const std::size_t grow_bytes_max = std::size_t{4} << 20;
  if (!set_of_arena(arena, "dirty_decay_ms", ssize_t{0}) ||
      !set_of_arena(arena, "muzzy_decay_ms", ssize_t{0}) ||
      !set_of_arena(arena, "retain_grow_limit", grow_bytes_max)) {
    return Error{
        "the allocator of the shared heap refused its settings: link the jemalloc it was built for (5.3)"};
  }
  ::pthread_atfork(nullptr, nullptr, [] { region.pages->forget_threads(); });
  return SharedArena{arena, region.pages};
}

bool bind_thread_to_arena(unsigned arena) noexcept {
  return musubi_je_mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena) == 0;
}

}  // namespace musubi::heap
