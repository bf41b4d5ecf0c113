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

// One load of `byte`: faults if it may not be read.
inline void touch_for_reading(const volatile unsigned char* byte) noexcept {
  static_cast<void>(*byte);
}

// Faults if `byte` may not be written; never changes it, even if other threads write it at the same time.
inline void touch_for_writing(volatile unsigned char* byte) noexcept {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("lock orb $0, %0" : "+m"(*byte) : : "memory", "cc");
#else
  __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
#endif
}

// The register that points to a thread's own data.
std::uintptr_t thread_pointer() noexcept;

// Switches the calling thread to another thread's data: the C library takes it for that thread from now on.
// The owner of the data no longer runs in this process. Signal-safe.
void set_thread_pointer(std::uintptr_t pointer) noexcept;

}  // namespace musubi::os
