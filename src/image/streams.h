// Streams of the C library that another rank made. Their state stays there: a call here works on a stream of
// its own for the time of the call, which reads and writes through the owner.
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
    write,   // data; result: bytes written
    read,    // up to `number` bytes, of what the owner has at hand behind the first; up to the end of a line
             // unless `offset`
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
    reopen,  // data: mode and path, each ended by zero
    lock,
    text,       // of a stream in memory, `number` being its id, from `offset` on
    drop_text,  // of a closed one
  };
  // What becomes of the lock of the stream behind the operation.
  enum class Lock : std::uint32_t { unchanged, keep, let_go };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Whether another rank has `stream`. Standard input and output are rank 0's; output is each rank's own when
  // lines are labelled.
  bool is_foreign(const std::FILE* stream) const noexcept {
    if (heap::stream_memory.contains(stream)) return heap::stream_memory.owner_of(stream) != self_;
    return self_ != Rank{0} && (stream == stdin || (stream == stdout && one_output_));
  }
  // Runs an operation on a foreign stream at its owner. Result: below 0 a negative error number.
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

// The stream to work on for one call: `stream` itself unless it is foreign.
class StreamHere {
 public:
  StreamHere(std::FILE* stream, StreamUse use) noexcept;
  ~StreamHere() {
    if (foreign_ != nullptr) finish();
  }
  StreamHere(const StreamHere&) = delete;
  StreamHere& operator=(const StreamHere&) = delete;

  std::FILE* get() const noexcept { return here_; }

 private:
  static ssize_t read(void* here, char* data, std::size_t bytes) noexcept;
  static ssize_t write(void* here, const char* data, std::size_t bytes) noexcept;
  void finish() noexcept;

  std::FILE* here_;
  std::FILE* foreign_ = nullptr;  // null: `here_` is the one that was asked for
  StreamUse use_;
  bool keeps_lock_ = false;
};

}  // namespace musubi::image
