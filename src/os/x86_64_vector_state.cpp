#include "os/x86_64_vector_state.h"

#include <cpuid.h>

#include <algorithm>

namespace musubi::os {

VectorState vector_state() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return {};
  if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 0) return {};
  constexpr std::uint64_t tiles = std::uint64_t{3} << 17;
  VectorState state;
  state.components = (std::uint64_t{d} << 32 | a) & ~tiles;
  state.bytes = 512 + 64;
  for (unsigned component = 2; component < 63; ++component) {
    if (((state.components >> component) & 1) == 0) continue;
    __get_cpuid_count(0xd, component, &a, &b, &c, &d);
    state.bytes = std::max<std::uint64_t>(state.bytes, std::uint64_t{a} + b);  // size and offset
  }
  __get_cpuid_count(0xd, 1, &a, &b, &c, &d);
  state.compact = (a >> 1 & 1) != 0;
  state.tells_use = (a >> 2 & 1) != 0;
  return state;
}

}  // namespace musubi::os
