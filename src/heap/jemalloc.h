// jemalloc 5.3 under the build's private names (jemalloc_symbols.txt): the program keeps `malloc` and may
// even have a jemalloc of its own. Contracts: jemalloc(3).
#pragma once

#include <cstddef>

extern "C" {
void* musubi_je_malloc(std::size_t bytes);
void* musubi_je_calloc(std::size_t count, std::size_t bytes);
void* musubi_je_realloc(void* pointer, std::size_t bytes);
void musubi_je_free(void* pointer);
int musubi_je_posix_memalign(void** pointer, std::size_t alignment, std::size_t bytes);
void* musubi_je_mallocx(std::size_t bytes, int flags);
void* musubi_je_rallocx(void* pointer, std::size_t bytes, int flags);
void musubi_je_dallocx(void* pointer, int flags);
std::size_t musubi_je_sallocx(const void* pointer, int flags);
int musubi_je_mallctl(const char* name, void* old, std::size_t* old_bytes, void* value,
                      std::size_t value_bytes);
extern const char* musubi_je_malloc_conf;
extern const char* musubi_je_malloc_conf_last;
}

namespace musubi::heap::jemalloc {

// The flags of the ...x functions, as in jemalloc.h, whose macros cannot be used without its declarations.
inline constexpr int zero = 0x40;
inline constexpr int no_thread_cache = 1 << 8;
constexpr int arena(unsigned index) {
  return static_cast<int>(index + 1) << 20;
}
// REQUIRES: a power of two.
constexpr int align(std::size_t alignment) {
  return __builtin_ctzl(alignment);
}

// Larger allocations have pages of their own.
inline constexpr std::size_t small_bytes_max = 14336;

// The interface by which jemalloc asks for memory: the structs of its header, which cannot be included
// because it declares malloc's family under names that the build removed.
struct ExtentHooks;

using ExtentAlloc = void*(ExtentHooks*, void* address, std::size_t bytes, std::size_t alignment, bool* zero,
                          bool* commit, unsigned arena);
using ExtentChange = bool(ExtentHooks*, void* address, std::size_t bytes, bool committed, unsigned arena);
using ExtentDestroy = void(ExtentHooks*, void* address, std::size_t bytes, bool committed, unsigned arena);
using ExtentRange = bool(ExtentHooks*, void* address, std::size_t bytes, std::size_t offset,
                         std::size_t length, unsigned arena);
using ExtentSplit = bool(ExtentHooks*, void* address, std::size_t bytes, std::size_t first,
                         std::size_t second, bool committed, unsigned arena);
using ExtentMerge = bool(ExtentHooks*, void* first, std::size_t first_bytes, void* second,
                         std::size_t second_bytes, bool committed, unsigned arena);

// extent_hooks_t. A null entry means "unsupported"; true means failure.
struct ExtentHooks {
  ExtentAlloc* alloc;
  ExtentChange* dalloc;
  ExtentDestroy* destroy;
  ExtentRange* commit;
  ExtentRange* decommit;
  ExtentRange* purge_lazy;
  ExtentRange* purge_forced;
  ExtentSplit* split;
  ExtentMerge* merge;
};

// arena_config_t, for "experimental.arenas_create_ext".
struct ArenaConfig {
  ExtentHooks* hooks;
  bool metadata_use_hooks;
};

}  // namespace musubi::heap::jemalloc
