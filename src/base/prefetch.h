// Prefetching of cache lines.
#pragma once

namespace musubi {

// Prefetches the line of `address` into this core for writing. Only a hint; any address.
inline void prefetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // Without a special option gcc and clang fetch the line for reading only. A processor that does not know
  // the instruction ignores it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace musubi
