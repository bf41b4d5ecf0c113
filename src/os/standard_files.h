// Standard input, output and error of this process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace musubi::os {

// Opens closed standard descriptors as /dev/null; otherwise other files would get their numbers. Call it
// before any file is opened. A program that replaces this one by exec finds them closed, as the user left
// them.
inline void open_missing_standard_files() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace musubi::os
