// The processor. Instructions that differ between architectures stand here and nowhere else in os.
#pragma once

#include <cstdint>
#include <string>

namespace musubi::os {

// Tells the processor that the caller spins: frees execution units and power for the sibling.
inline void pause_instruction() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` does nothing on most cores; isb waits about as long as a pause
#else
  asm volatile("" ::: "memory");
#endif
}

// The addresses that a process can have: 47 bits, unless it asks for five-level page tables.
inline constexpr std::uint64_t address_space_bytes = std::uint64_t{1} << 47;

// Whether a sequentially consistent read-modify-write also orders the plain stores before it against the
// plain loads behind it.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool atomics_are_full_fences = true;
#else
inline constexpr bool atomics_are_full_fences = false;
#endif

// Cores on which this process may run (its affinity mask, not what the machine has). At least 1.
std::uint32_t allowed_cores() noexcept;

// The cores themselves, as a string of '0' and '1'.
std::string allowed_core_set();

}  // namespace musubi::os
