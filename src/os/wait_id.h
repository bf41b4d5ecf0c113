// Targets of waitid() that sys/wait.h does not name.
#pragma once

#include <sys/wait.h>

namespace musubi::os {

// P_PIDFD, which glibc names from 2.36 on: the process of a descriptor.
inline constexpr auto by_descriptor = static_cast<idtype_t>(3);

}  // namespace musubi::os
