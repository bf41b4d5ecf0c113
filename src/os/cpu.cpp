#include "os/cpu.h"

#include <sched.h>
#include <unistd.h>

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

}  // namespace musubi::os
