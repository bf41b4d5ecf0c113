// The name of this host.
#pragma once

#include <limits.h>
#include <unistd.h>

#include <string>

namespace musubi::os {

// As the kernel has it; `otherwise` if there is none.
inline std::string host_name(const char* otherwise) {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : otherwise;
}

}  // namespace musubi::os
