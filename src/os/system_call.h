// The bare system call. The runtime exports its own syscall() to the program and must not call that itself.
// Architecture-specific.
#pragma once

#if !defined(__x86_64__)
#include <errno.h>
#include <unistd.h>
#endif

namespace musubi::os {

// Result: the kernel's, errors as negative numbers. errno does not change. Any thread, signal-safe.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
#if defined(__x86_64__)
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
#else
  const int kept = errno;
  const long result = ::syscall(number, a, b, c, d, e, f);
  const long answer = result == -1 ? -errno : result;
  errno = kept;
  return answer;
#endif
}

inline long as_argument(const volatile void* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

}  // namespace musubi::os
