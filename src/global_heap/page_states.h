// The states of whole pages, for the page-wise calls: two bits each, read and written in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "global_heap/rules.h"

namespace musubi::global_heap {

enum class PageState : std::uint8_t {
  other,   // of the break, or of a span of objects
  free,    // of the pool
  mapped,  // allocated
};

inline constexpr std::uint64_t pages_per_byte = 4;

// A piece of the table: the states of the pages from `first` on.
struct PageStates {
  static constexpr std::size_t bytes = 512;
  static constexpr std::uint64_t pages = bytes * pages_per_byte;

  std::uint64_t first = 0;  // a multiple of pages_per_byte
  std::array<std::uint8_t, bytes> packed{};

  PageState at(std::uint64_t page) const {
    const std::uint64_t place = page - first;
    return static_cast<PageState>(packed[place / pages_per_byte] >> (place % pages_per_byte * 2) & 3);
  }
  void set(std::uint64_t page, PageState state) {
    const std::uint64_t place = page - first;
    std::uint8_t& byte = packed[place / pages_per_byte];
    const auto shift = place % pages_per_byte * 2;
    byte = static_cast<std::uint8_t>((byte & ~(3u << shift)) | static_cast<unsigned>(state) << shift);
  }
};

// Finds the first run of `pages` free pages that begins at a multiple of `alignment`, in pages: a power of
// two. The pieces are passed to it in order, without gaps.
class RunSearch {
 public:
  RunSearch(std::uint64_t pages, std::uint64_t alignment) : pages_(pages), alignment_(alignment) {}

  // The pages [from, to) of the piece. Result: the begin of the run.
  std::optional<std::uint64_t> look(const PageStates& piece, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t page = from; page < to; ++page) {
      if (piece.at(page) != PageState::free) {
        begin_.reset();
        continue;
      }
      if (!begin_) begin_ = page;
      const std::uint64_t aligned = round_up(*begin_, alignment_);
      if (page + 1 >= aligned + pages_) return aligned;
    }
    return std::nullopt;
  }

 private:
  std::uint64_t pages_;
  std::uint64_t alignment_;
  std::optional<std::uint64_t> begin_;  // of the current free run
};

}  // namespace musubi::global_heap
