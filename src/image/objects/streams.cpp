#include "image/objects/streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/process/own_rank.h"
#include "image/process/remote_procedures.h"
#include "os/errno_kept.h"

namespace musubi::image {
namespace {

// The C library's callbacks have no argument to carry it.
constinit Streams* streams_of_process = nullptr;

// Null if all streams belong to this process.
Streams* streams_of_job() noexcept {
  return runs_over_ranks() ? streams_of_process : nullptr;
}

}  // namespace

void Streams::start(runtime::Runtime& runtime) {
  streams_of_process = this;
  runtime_ = &runtime;
  self_ = runtime.self();
  one_output_ = !runtime.settings().label_output;
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::streams, *this);
}

std::int64_t Streams::operate(std::FILE* stream, Operation operation, std::int64_t offset,
                              std::int64_t number, std::span<const char> data, std::span<char> reply,
                              Lock lock) noexcept {
  const Request request{operation, lock, ::gettid(), stream, offset, number};
  std::byte message[sizeof request + data_bytes_max];
  MUSUBI_CHECK(data.size() <= data_bytes_max);
  std::memcpy(message, &request, sizeof request);
  if (!data.empty()) std::memcpy(message + sizeof request, data.data(), data.size());
  const Rank owner = heap::stream_memory.contains(stream) ? heap::stream_memory.owner_of(stream) : Rank{0};
  const std::span<const std::byte> sent(message, sizeof request + data.size());
  return runtime_->remote_calls()
      .call(owner, procedures::streams, sent, std::as_writable_bytes(reply))
      .status;
}

LocalStream::LocalStream(std::FILE* stream, StreamUse use) noexcept : here_(stream), use_(use) {
  const Streams* const streams = streams_of_job();
  if (streams == nullptr || !streams->is_foreign(stream)) return;
  cookie_io_functions_t functions{};
  functions.read = &LocalStream::read;
  functions.write = &LocalStream::write;
  here_ = ::fopencookie(this, use == StreamUse::writing ? "w" : "r", functions);
  if (here_ == nullptr) return;
  foreign_ = stream;
  // Unbuffered output, so that this call sends it and its result reports errors. A byte of a wide character
  // cannot be put back.
  if (use != StreamUse::reading) ::setvbuf(here_, nullptr, _IONBF, 0);
}

ssize_t LocalStream::read(void* here, char* data, std::size_t bytes) noexcept {
  LocalStream& self = *static_cast<LocalStream*>(here);
  constexpr std::size_t line_bytes_max = 4096;  // a caller that asks for more does not read lines
  const std::size_t wanted = std::min(bytes, Streams::data_bytes_max);
  const std::int64_t got =
      streams_of_job()->operate(self.foreign_, Streams::Operation::read, bytes > line_bytes_max ? 1 : 0,
                                static_cast<std::int64_t>(wanted), {}, {data, wanted},
                                self.keeps_lock_ ? Streams::Lock::unchanged : Streams::Lock::keep);
  self.keeps_lock_ = true;
  if (got >= 0) return static_cast<ssize_t>(got);
  errno = static_cast<int>(-got);
  return -1;
}

ssize_t LocalStream::write(void* here, const char* data, std::size_t bytes) noexcept {
  LocalStream& self = *static_cast<LocalStream*>(here);
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t part = std::min(bytes - done, Streams::data_bytes_max);
    // Output of several parts must not be interleaved with that of other threads.
    const bool keep = part < bytes && !self.keeps_lock_;
    const std::int64_t written =
        streams_of_job()->operate(self.foreign_, Streams::Operation::write, 0, 0, {data + done, part}, {},
                                  keep ? Streams::Lock::keep : Streams::Lock::unchanged);
    self.keeps_lock_ |= keep;
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written >= 0 && static_cast<std::size_t>(written) == part) continue;
    errno = written < 0 ? static_cast<int>(-written) : EIO;
    return 0;  // as fopencookie(3) requires
  }
  return static_cast<ssize_t>(bytes);
}

// Returns bytes that were read from the owner and not used.
void LocalStream::finish() noexcept {
  const os::ErrnoKept errno_kept;
  if (keeps_lock_) {
    std::span<const char> left;
    if (use_ == StreamUse::reading && here_->_IO_read_end > here_->_IO_read_ptr) {
      left = {here_->_IO_read_ptr, here_->_IO_read_end};
    }
    while (left.size() > Streams::data_bytes_max) {
      streams_of_job()->operate(foreign_, Streams::Operation::unread, 0, 0,
                                left.last(Streams::data_bytes_max));
      left = left.first(left.size() - Streams::data_bytes_max);
    }
    streams_of_job()->operate(foreign_, Streams::Operation::unread, 0, 0, left, {}, Streams::Lock::let_go);
  }
  std::fclose(here_);
}

}  // namespace musubi::image
