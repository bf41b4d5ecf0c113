// Standard input of rank 0 at its proxy: writes the launcher's input into a pipe, as fast as the rank reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/memory.h"

namespace musubi::launch {

class InputPipe {
 public:
  // `write_end` is made non-blocking.
  explicit InputPipe(os::FileDescriptor write_end);

  int descriptor() const { return pipe_.number(); }
  bool open() const { return pipe_.number() >= 0; }
  void add(std::string_view bytes);
  void end() { ended_ = true; }  // no more input follows
  // Writes as much as the rank takes now; closes the pipe at the end of input, and if it has no reader.
  // Result: bytes written.
  std::size_t write_more();
  bool waits() const { return open() && !bytes_.empty(); }  // for the rank to read

 private:
  os::FileDescriptor pipe_;
  std::string bytes_;
  bool ended_ = false;
};

}  // namespace musubi::launch
