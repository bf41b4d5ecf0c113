#include "os/cpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

namespace musubi::os {

std::uint32_t allowed_cores() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) {
    const int count = CPU_COUNT(&cores);
    if (count > 0) return static_cast<std::uint32_t>(count);
  }
  // More cores than cpu_set_t has bits (1024): the mask does not fit, and its exact size no longer matters.
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<std::uint32_t>(online) : 1;
}

std::string allowed_core_set() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return std::string(allowed_cores(), '1');
  std::string set;
  for (int core = 0; core < CPU_SETSIZE; ++core) set += CPU_ISSET(core, &cores) ? '1' : '0';
  return set.substr(0, set.rfind('1') + 1);
}

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
