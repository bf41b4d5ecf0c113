// The source of a private copy of a rank's memory, for a child process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::vm {

class CopySource {
 public:
  // Has the rank open [address, address+bytes), so that its memory file holds the bytes that its program
  // would read there. Blocks until then. False if the rank no longer answers. Inside a signal handler.
  virtual bool open(std::uintptr_t address, std::size_t bytes) noexcept = 0;

 protected:
  ~CopySource() = default;
};

}  // namespace musubi::vm
