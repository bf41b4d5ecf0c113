// Lines of the runtime for the user, from places that must not wait.
#pragma once

#include <poll.h>
#include <sys/syscall.h>

#include <string_view>

#include "os/system_call.h"

namespace musubi::os {

// Writes the line by one system call, so that lines of processes do not mix. Not at all when that would
// block: a pipe whose reader stands is full. Up to 4096 bytes. Result: whether it was written. Any thread,
// signal-safe.
inline bool write_line_at_once(int file, std::string_view line) noexcept {
  pollfd ready{file, POLLOUT, 0};
  if (system_call(SYS_poll, as_argument(&ready), 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  const long written = system_call(SYS_write, file, as_argument(line.data()), static_cast<long>(line.size()));
  return written == static_cast<long>(line.size());
}

}  // namespace musubi::os
