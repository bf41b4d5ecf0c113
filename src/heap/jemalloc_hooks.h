// The interface by which jemalloc asks for memory: the structs of jemalloc.h, which cannot be included
// because it declares malloc's family under names that the build removed.
#pragma once

#include <cstddef>

namespace musubi::heap::jemalloc {

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
