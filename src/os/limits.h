// The kernel's resource limits: those that a program sees may differ (image/process/open_file_limit.h).
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <algorithm>

#include "os/system_call.h"

namespace musubi::os {

// Infinite if the kernel does not tell. Signal-safe.
inline rlimit kernel_limit(int resource) noexcept {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  system_call(SYS_prlimit64, 0, resource, 0, as_argument(&limit));
  return limit;
}

// Sets the soft limit of `process` (0: this one) to `value`, or to this process's hard limit if that is
// lower.
inline void set_soft_limit(pid_t process, int resource, rlim_t value) noexcept {
  rlimit limit = kernel_limit(resource);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  system_call(SYS_prlimit64, process, resource, as_argument(&limit), 0);
}

}  // namespace musubi::os
