// Touching memory without changing it. Architecture-specific.
#pragma once

namespace musubi::os {

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

}  // namespace musubi::os
