// open_memstream(3) and open_wmemstream(3): the stream grows a buffer in private memory of the rank that made
// it. A flush or close, on any rank, copies the text to shared memory of the program.
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
  // A text as the flushing rank knows it.
  struct Text {
    std::uint64_t id;  // of the stream among those of its rank; 0: none
    char** place;      // of the program
    std::size_t* length_place;
    std::size_t length;  // characters
    std::size_t character_bytes;
  };

  // Null, with errno, if memory is exhausted.
  std::FILE* open(char** place, std::size_t* length_place, Kind kind);

  // On the rank that made `stream`. 0: not such a stream. `closes`: the stream is about to be closed; later
  // calls do not find it, and its id stays valid.
  std::uint64_t id_of(const std::FILE* stream, bool closes) noexcept;
  // After fflush or fclose.
  Text text_of(std::uint64_t id) noexcept;
  // A part of the text, from byte `offset` on. Result: bytes stored.
  std::size_t read(std::uint64_t id, std::size_t offset, std::span<char> part) noexcept;
  // Frees the text of a closed stream.
  void drop(std::uint64_t id) noexcept;

  // Copies a text of this rank to the program's memory. Threads of the program.
  void show(const Text& text) noexcept;
  // After fflush(null).
  void show_all() noexcept;
  // Memory of the program for `text`. Null: memory is exhausted.
  static char* provide(const Text& text) noexcept;

 private:
  struct Stream {
    std::uint64_t id;
    const std::FILE* stream;  // null: closed
    Kind kind;
    char** place;
    std::size_t* length_place;
    char* text;  // set by the C library at a flush
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
