// Keeps errno for the program where the runtime works in its name: inside a signal handler, in an atomic
// operation.
#pragma once

#include <cerrno>

namespace musubi::os {

// Restores errno on destruction.
class ErrnoKept {
 public:
  ErrnoKept() noexcept : value_(errno) {}
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;
  ~ErrnoKept() { errno = value_; }

 private:
  int value_;
};

}  // namespace musubi::os
