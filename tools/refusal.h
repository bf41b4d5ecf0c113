// Ends a command that cannot do its task.
#pragma once

#include <cstdio>
#include <string>

namespace musubi::tools {

// Prints one line on standard error. Result: `status`, for main to return.
inline int refuse(const std::string& message, int status) {
  std::fprintf(stderr, "musubi: %s\n", message.c_str());
  return status;
}

}  // namespace musubi::tools
