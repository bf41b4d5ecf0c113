// How the standard streams of C++ print and read: flags, precision, fill, buffer. Each rank has these streams
// for itself, and what main has set by its next region holds for all threads of the region.
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
  // Before the program runs. Without streams, or where they are in common, nothing ever changes.
  void start(const runtime::Runtime& runtime) noexcept;

  // Rank 0, the thread of main. Result: the formats of all streams, when they are others than at the last
  // call; else empty. Valid until the next call.
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
  std::array<std::ios*, stream_count> streams_{};  // null: there are none
  std::array<std::streambuf*, stream_count> own_buffers_{};
  std::array<Format, stream_count> told_{};
};

}  // namespace musubi::image
