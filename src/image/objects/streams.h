// Streams of the C library that another rank made. Their state stays on that rank: a call here works on a
// temporary stream of its own, which reads and writes through the owner.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "heap/stream_memory.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Streams final : private runtime::Procedure {
 public:
  enum class Operation : std::uint32_t {
    write,  // data; result: bytes written
    // up to `number` bytes: waits for one, adds bytes that the owner has buffered; ends at a newline unless
    // `offset`
    read,
    unread,  // data
    seek,    // by `offset`, `number` as whence
    tell,
    flush,  // reply of this and the next: MemoryStreams::Text, if it is such a stream
    close,
    close_process,  // pclose
    state,          // result: bit 0 end of file, bit 1 error
    clear_state,
    number,  // of the descriptor
    buffer,  // mode `number`, `offset` bytes
    reopen,  // data: mode and path, each null-terminated
    lock,
    text,       // of a memory stream, `number` is its id, from `offset` on
    drop_text,  // of a closed memory stream
  };
  // The stream's lock after the operation.
  enum class Lock : std::uint32_t { unchanged, keep, let_go };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Whether another rank owns `stream`. Rank 0 owns standard input and output; with labelled lines each rank
  // owns its output.
  bool is_foreign(const std::FILE* stream) const noexcept {
    if (heap::stream_memory.contains(stream)) return heap::stream_memory.owner_of(stream) != self_;
    return self_ != Rank{0} && (stream == stdin || (stream == stdout && one_output_));
  }
  // Runs an operation on a foreign stream at its owner. Result: a negative error number on failure.
  std::int64_t operate(std::FILE* stream, Operation operation, std::int64_t offset = 0,
                       std::int64_t number = 0, std::span<const char> data = {}, std::span<char> reply = {},
                       Lock lock = Lock::unchanged) noexcept;

  static constexpr std::size_t data_bytes_max = 1800;

 private:
  struct Request {
    Operation operation;
    Lock lock;
    std::int32_t thread;
    std::FILE* stream;
    std::int64_t offset;
    std::int64_t number;
  };
  static_assert(sizeof(Request) + data_bytes_max <= runtime::call_bytes_max);
  // A thread of another rank that keeps the lock of a stream between operations.
  struct Holder {
    std::FILE* stream;
    Rank rank;
    std::int32_t thread;
    std::uint32_t depth;
  };
  class Entry;

  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  runtime::Answer carry_out(const Request& request, std::span<const char> data,
                            std::span<char> reply) noexcept;
  Holder* find(const std::FILE* stream, Rank rank, std::int32_t thread) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Rank self_{};
  bool one_output_ = false;
  SpinLock lock_;  // of the holders
  std::vector<Holder> holders_;
};

enum class StreamUse : std::uint8_t { writing, reading, reading_wide };

// The stream to work on during one call: `stream` itself unless it is foreign.
class LocalStream {
 public:
  LocalStream(std::FILE* stream, StreamUse use) noexcept;
  ~LocalStream() {
    if (foreign_ != nullptr) finish();
  }
  LocalStream(const LocalStream&) = delete;
  LocalStream& operator=(const LocalStream&) = delete;

  std::FILE* get() const noexcept { return here_; }

 private:
  static ssize_t read(void* here, char* data, std::size_t bytes) noexcept;
  static ssize_t write(void* here, const char* data, std::size_t bytes) noexcept;
  void finish() noexcept;

  std::FILE* here_;
  std::FILE* foreign_ = nullptr;  // null: `here_` is the requested stream
  StreamUse use_;
  bool keeps_lock_ = false;
};

}  // namespace musubi::image
