// Lines of the runtime for the user, written from places that must not block.
#pragma once

#include <poll.h>
#include <sys/syscall.h>

#include <string_view>

#include "os/system_call.h"

namespace musubi::os {

// Writes the line by one system call, so that lines of several processes do not mix. Writes nothing if that
// would block, for instance on a full pipe whose reader is stopped. Up to 4096 bytes. Result: whether the
// line was written. Any thread, signal-safe.
inline bool write_line_at_once(int file, std::string_view line) noexcept {
  pollfd ready{file, POLLOUT, 0};
  if (system_call(SYS_poll, as_argument(&ready), 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  const long written = system_call(SYS_write, file, as_argument(line.data()), static_cast<long>(line.size()));
  return written == static_cast<long>(line.size());
}

}  // namespace musubi::os
