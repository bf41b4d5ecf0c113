// open_memstream(3) and open_wmemstream(3): such a stream grows a piece of private memory at the rank that
// made it. A flush or close, at any rank, copies the text to shared memory of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <span>

#include "base/spin_lock.h"

namespace musubi::image {

class MemoryStreams {
 public:
  enum class Kind : std::uint32_t { narrow, wide };
  // Known about a text to the rank that flushes.
  struct Text {
    std::uint64_t id;  // of the stream among those of its rank; 0: there is none
    char** place;      // of the program
    std::size_t* length_place;
    std::size_t length;  // characters
    std::size_t character_bytes;
  };

  // Null, with errno, when there is no memory.
  std::FILE* open(char** place, std::size_t* length_place, Kind kind);

  // At the rank that made `stream`. 0: not such a stream. `closes`: the stream is about to be closed; later
  // calls do not find it, and its id stays valid.
  std::uint64_t id_of(const std::FILE* stream, bool closes) noexcept;
  // Behind fflush or fclose.
  Text text_of(std::uint64_t id) noexcept;
  // A part of it, from `offset` in bytes on. Result: bytes stored.
  std::size_t read(std::uint64_t id, std::size_t offset, std::span<char> part) noexcept;
  // Of a closed one.
  void drop(std::uint64_t id) noexcept;

  // Shows the program a text of this rank. Threads of the program.
  void show(const Text& text) noexcept;
  // Behind fflush(null).
  void show_all() noexcept;
  // Gives the program memory for `text`. Null: none is left.
  static char* provide(const Text& text) noexcept;

 private:
  struct Stream {
    std::uint64_t id;
    const std::FILE* stream;  // null: closed
    Kind kind;
    char** place;
    std::size_t* length_place;
    char* text;  // as the C library says, when it has been flushed
    std::size_t length;
  };
  Text describe(const Stream& stream) const noexcept;

  SpinLock lock_;
  std::list<Stream> streams_;
  std::atomic<std::uint64_t> last_id_{0};
};

// A process has one, as it has one C library.
MemoryStreams& memory_streams() noexcept;

}  // namespace musubi::image
