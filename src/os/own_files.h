// Descriptors that the runtime holds while the program runs: the program can neither close them nor pass them
// on, even if it tries every number.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace musubi::os {

// Registers that the runtime has opened, or no longer holds, this descriptor. FileDescriptor registers its
// own. Any thread, signal-safe.
void note_own_file(int number, bool is_own) noexcept;
// Any thread, signal-safe.
bool is_own_file(int number) noexcept;
// From now on sockets between ranks get numbers of at least `first`, if one is free. Called before the
// program runs.
void keep_own_sockets_from(int first) noexcept;

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
