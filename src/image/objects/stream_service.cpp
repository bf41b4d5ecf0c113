// Operations of other ranks on this rank's streams.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "image/objects/memory_streams.h"
#include "image/objects/streams.h"
#include "os/cpu.h"

namespace musubi::image {
namespace {

// The C library's lock of a stream (libio/libioP.h), recursive for the thread with that thread pointer.
struct LibraryLock {
  int word;
  int count;
  void* owner;
};

LibraryLock& lock_of(std::FILE* stream) noexcept {
  return *static_cast<LibraryLock*>(stream->_lock);
}

std::int64_t outcome(std::int64_t result) noexcept {
  return result >= 0 ? result : -errno;
}

// Blocks for the first byte only: the caller may need no further bytes, so that waiting for them could block
// it for ever.
std::int64_t read_at_hand(std::FILE* stream, std::span<char> reply, bool by_lines) noexcept {
  errno = 0;
  int next = ::getc_unlocked(stream);
  if (next == EOF) return ::ferror_unlocked(stream) != 0 ? -(errno != 0 ? errno : EIO) : 0;
  std::size_t count = 0;
  while (true) {
    reply[count++] = static_cast<char>(next);
    if (count == reply.size() || (by_lines && next == '\n')) break;
    if (stream->_IO_read_ptr >= stream->_IO_read_end) break;
    next = ::getc_unlocked(stream);
  }
  return static_cast<std::int64_t>(count);
}

std::int64_t unread(std::FILE* stream, std::span<const char> data) noexcept {
  for (std::size_t i = data.size(); i-- > 0;) {
    if (std::ungetc(static_cast<unsigned char>(data[i]), stream) == EOF) return -EIO;
  }
  return 0;
}

runtime::Answer with_text(std::int64_t status, std::uint64_t id, std::span<char> reply) noexcept {
  const MemoryStreams::Text text = memory_streams().text_of(id);
  if (text.id == 0) return {status, 0};
  std::memcpy(reply.data(), &text, sizeof text);
  return {status, sizeof text};
}

}  // namespace

// The calling thread holds the lock of a stream on behalf of a thread of another rank.
class Streams::Entry {
 public:
  Entry(Streams& streams, const Request& request, Rank rank) noexcept
      : streams_(streams), request_(request), rank_(rank) {
    if (is_held()) {
      lock_of(request.stream).owner = reinterpret_cast<void*>(os::thread_pointer());
    } else {
      ::flockfile(request.stream);
    }
  }
  ~Entry() {
    change_hold();
    if (is_held()) {
      lock_of(request_.stream).owner = &streams_;  // the owner of no thread
    } else {
      ::funlockfile(request_.stream);
    }
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  bool is_held() noexcept {
    streams_.lock_.lock();
    const bool held = streams_.find(request_.stream, rank_, request_.thread) != nullptr;
    streams_.lock_.unlock();
    return held;
  }
  void change_hold() noexcept {
    if (request_.lock == Lock::unchanged) return;
    streams_.lock_.lock();
    Holder* const holder = streams_.find(request_.stream, rank_, request_.thread);
    if (request_.lock == Lock::keep) {
      if (holder == nullptr) streams_.holders_.push_back({request_.stream, rank_, request_.thread, 0});
      ++streams_.find(request_.stream, rank_, request_.thread)->depth;
    } else if (holder != nullptr && --holder->depth == 0) {
      *holder = streams_.holders_.back();
      streams_.holders_.pop_back();
    }
    streams_.lock_.unlock();
  }

  Streams& streams_;
  const Request& request_;
  const Rank rank_;
};

Streams::Holder* Streams::find(const std::FILE* stream, Rank rank, std::int32_t thread) noexcept {
  for (Holder& holder : holders_) {
    if (holder.stream == stream && holder.rank == rank && holder.thread == thread) return &holder;
  }
  return nullptr;
}

runtime::Answer Streams::run(Rank caller, std::span<const std::byte> bytes,
                             std::span<std::byte> reply) noexcept {
  Request request;
  MUSUBI_CHECK(bytes.size() >= sizeof request);
  std::memcpy(&request, bytes.data(), sizeof request);
  const std::span<char> answered(reinterpret_cast<char*>(reply.data()), reply.size());
  const auto text_id = static_cast<std::uint64_t>(request.number);
  if (request.operation == Operation::text) {
    return {0, memory_streams().read(text_id, static_cast<std::size_t>(request.offset),
                                     answered.first(data_bytes_max))};
  }
  if (request.operation == Operation::drop_text) {
    memory_streams().drop(text_id);
    return {};
  }
  if (request.stream != stdin && request.stream != stdout && !heap::stream_memory.is_in_use(request.stream))
    return {-EBADF, 0};
  const std::span<const char> data(reinterpret_cast<const char*>(bytes.data()) + sizeof request,
                                   bytes.size() - sizeof request);
  if (request.operation == Operation::close) {
    const std::uint64_t id = memory_streams().id_of(request.stream, true);
    return with_text(outcome(std::fclose(request.stream)), id, answered);
  }
  if (request.operation == Operation::close_process) return {outcome(::pclose(request.stream)), 0};
  const Entry entry(*this, request, caller);
  return carry_out(request, data, answered);
}

runtime::Answer Streams::carry_out(const Request& request, std::span<const char> data,
                                   std::span<char> reply) noexcept {
  std::FILE* const stream = request.stream;
  switch (request.operation) {
    case Operation::write: {
      const std::size_t written = ::fwrite_unlocked(data.data(), 1, data.size(), stream);
      return {written == 0 && !data.empty() ? -errno : static_cast<std::int64_t>(written), 0};
    }
    case Operation::read: {
      const std::size_t most = std::min(static_cast<std::size_t>(request.number), reply.size());
      const std::int64_t got = read_at_hand(stream, reply.first(most), request.offset == 0);
      return {got, got > 0 ? static_cast<std::size_t>(got) : 0};
    }
    case Operation::unread:
      return {unread(stream, data), 0};
    case Operation::seek:
      return {outcome(::fseeko(stream, request.offset, static_cast<int>(request.number))), 0};
    case Operation::tell:
      return {outcome(::ftello(stream)), 0};
    case Operation::flush:
      return with_text(outcome(std::fflush(stream)), memory_streams().id_of(stream, false), reply);
    case Operation::state:
      return {(std::feof(stream) != 0 ? 1 : 0) | (std::ferror(stream) != 0 ? 2 : 0), 0};
    case Operation::clear_state:
      std::clearerr(stream);
      return {};
    case Operation::number:
      return {outcome(::fileno(stream)), 0};
    case Operation::buffer:
      return {std::setvbuf(stream, nullptr, static_cast<int>(request.number),
                           static_cast<std::size_t>(request.offset)) == 0
                  ? 0
                  : -EINVAL,
              0};
    case Operation::reopen: {
      const char* const path = data.data() + std::strlen(data.data()) + 1;
      return {std::freopen(path, data.data(), stream) != nullptr ? 0 : -errno, 0};
    }
    case Operation::lock:
    case Operation::close:
    case Operation::close_process:
    case Operation::text:
    case Operation::drop_text:
      return {};
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
