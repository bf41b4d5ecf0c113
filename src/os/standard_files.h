// Standard input, output and error of this process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace musubi::os {

// Opens those that are closed as /dev/null: other files would get their numbers. To be called before anything
// is opened. A program that takes the place of this one by exec finds them closed, as the user left them.
inline void open_missing_standard_files() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace musubi::os
