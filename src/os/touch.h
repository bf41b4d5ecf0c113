// Touching memory without changing it. Architecture-specific code stands here and nowhere else in os.
#pragma once

namespace musubi::os {

// One load of `byte`: faults when it may not be read.
inline void touch_for_reading(const volatile unsigned char* byte) noexcept {
  static_cast<void>(*byte);
}

// Faults when `byte` may not be written; leaves it as it is, also when others write it meanwhile.
inline void touch_for_writing(volatile unsigned char* byte) noexcept {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("lock orb $0, %0" : "+m"(*byte) : : "memory", "cc");
#else
  __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
#endif
}

}  // namespace musubi::os
