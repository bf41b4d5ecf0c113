// Asks for cache lines before they are needed.
#pragma once

namespace musubi {

// The line of `address` comes to this core as one that it may write. Only a hint; any address.
inline void prefetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // Without a special option gcc and clang fetch the line for reading only. Where the processor does not
  // know the instruction it does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace musubi
