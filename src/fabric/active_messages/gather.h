// Bytes on their way into a lane: an ordered list of pieces, some copied here, some referred to in place.
// Bytes offered to the transport stay unchanged until it takes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "fabric/active_messages/transport.h"

namespace musubi::fabric {

// One thread at a time.
class Gather {
 public:
  // `scratch` holds copied bytes, and outlives this.
  void use(std::span<std::byte> scratch) noexcept { scratch_ = scratch; }

  bool empty() const noexcept { return first_ == end_; }
  // Whether `bytes` more can be copied, in up to `pieces` more pieces.
  bool has_room(std::size_t bytes, std::size_t pieces) const noexcept {
    return scratch_.size() - used_ >= bytes && pieces_max - end_ >= pieces;
  }

  // REQUIRES, for copy and refer_to: has_room.
  void copy(const void* from, std::size_t bytes) noexcept {
    std::byte* const to = scratch_.data() + used_;
    std::memcpy(to, from, bytes);
    used_ += bytes;
    if (!empty() && pieces_[end_ - 1].data() + pieces_[end_ - 1].size() == to) {
      pieces_[end_ - 1] = Piece(pieces_[end_ - 1].data(), pieces_[end_ - 1].size() + bytes);
    } else {
      pieces_[end_++] = Piece(to, bytes);
    }
  }
  void refer_to(const void* from, std::size_t bytes) noexcept {
    pieces_[end_++] = Piece(static_cast<const std::byte*>(from), bytes);
  }

  std::span<const Piece> pieces() const noexcept { return std::span(pieces_).subspan(first_, end_ - first_); }

  // Removes bytes that the transport took.
  void taken(std::size_t bytes) noexcept {
    while (!empty() && bytes >= pieces_[first_].size()) bytes -= pieces_[first_++].size();
    if (!empty()) {
      pieces_[first_] = pieces_[first_].subspan(bytes);
      return;
    }
    MUSUBI_CHECK(bytes == 0, "more was taken than offered");
    first_ = end_ = used_ = 0;
  }

 private:
  std::span<std::byte> scratch_;
  std::size_t used_ = 0, first_ = 0, end_ = 0;
  std::array<Piece, pieces_max> pieces_;
};

}  // namespace musubi::fabric
