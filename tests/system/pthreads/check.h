// Programs of this folder check themselves: they must behave the same natively and with threads on all ranks.
#pragma once

#include <sys/syscall.h>

#include "../image/check.h"

// The process that really runs the calling thread: getpid() and syscall() answer for the whole program.
static inline int process_of_thread(void) {
  long result;
#if defined(__x86_64__)
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getpid) : "rcx", "r11", "memory");
#else
  result = syscall(SYS_getpid);
#endif
  return (int)result;
}
