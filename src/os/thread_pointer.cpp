#include "os/thread_pointer.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

namespace musubi::os {

#if defined(__x86_64__)

std::uintptr_t thread_pointer() noexcept {
  std::uintptr_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));  // the ABI keeps the address there
  return pointer;
}

void set_thread_pointer(std::uintptr_t pointer) noexcept {
  ::syscall(SYS_arch_prctl, ARCH_SET_FS, pointer);
}

#else
#error "say here how this processor's thread pointer is read and set"
#endif

}  // namespace musubi::os
