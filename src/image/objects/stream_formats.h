// Format of the standard C++ streams: flags, precision, fill, buffer. Each rank has streams of its own; the
// formats that main has set before a region apply to all threads of the region.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <string_view>

#include "runtime/api/runtime.h"

namespace musubi::image {

class StreamFormats {
 public:
  // Before the program runs. Without streams, or if ranks share them, changes() is always empty.
  void start(const runtime::Runtime& runtime) noexcept;

  // Rank 0, main's thread. Result: the formats of all streams if one has changed since the last call;
  // otherwise empty. Valid until the next call.
  std::string_view changes() noexcept;
  // Another rank: sets these.
  void take(std::string_view formats) noexcept;

 private:
  struct Format {
    std::uint64_t flags = 0;
    std::int64_t precision = 0;
    std::uint64_t fill = 0;
    std::uint64_t buffer = 0;  // in shared memory; 0: the rank's own
    bool operator==(const Format&) const = default;
  };
  static constexpr std::size_t stream_count = 4;

  Format format_of(std::size_t stream) const noexcept;

  const runtime::Runtime* runtime_ = nullptr;
  std::array<std::ios*, stream_count> streams_{};  // null: the program has no C++ streams
  std::array<std::streambuf*, stream_count> own_buffers_{};
  std::array<Format, stream_count> sent_{};
};

}  // namespace musubi::image
