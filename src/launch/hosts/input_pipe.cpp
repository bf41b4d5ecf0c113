#include "launch/hosts/input_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace musubi::launch {

InputPipe::InputPipe(os::FileDescriptor write_end) : pipe_(std::move(write_end)) {
  if (open()) ::fcntl(pipe_.number(), F_SETFL, O_NONBLOCK);
}

void InputPipe::add(std::string_view bytes) {
  if (open()) bytes_ += bytes;
}

std::size_t InputPipe::write_more() {
  std::size_t written = 0;
  while (open() && written < bytes_.size()) {
    const ssize_t bytes = ::write(pipe_.number(), bytes_.data() + written, bytes_.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) {
      pipe_.close();
      break;
    }
    written += static_cast<std::size_t>(bytes);
  }
  bytes_.erase(0, written);
  if (ended_ && bytes_.empty()) pipe_.close();
  return written;
}

}  // namespace musubi::launch
