// The processor: the only place in os for instructions that differ between architectures.
#pragma once

#include <cstdint>
#include <string>

namespace musubi::os {

// Tells the processor that the caller spins: frees execution units and power for the sibling.
inline void pause_instruction() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; isb takes about as long as a pause
#else
  asm volatile("" ::: "memory");
#endif
}

// The size of a process's address space: 47 bits, unless it asks for five-level page tables.
inline constexpr std::uint64_t address_space_bytes = std::uint64_t{1} << 47;

// Whether a sequentially consistent read-modify-write also orders earlier plain stores against later plain
// loads.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool atomics_are_full_fences = true;
#else
inline constexpr bool atomics_are_full_fences = false;
#endif

// Cores on which this process may run (its affinity mask, not the cores of the machine). At least 1.
std::uint32_t allowed_cores() noexcept;

// The cores themselves, as a string of '0' and '1'.
std::string allowed_core_set();

}  // namespace musubi::os
