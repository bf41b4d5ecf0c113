#include "coherence/entry/board.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace musubi::coherence::entry {

Runs Board::load(const ListHead& head) const {
  const auto* const runs = reinterpret_cast<const Run*>(own_ + head.offset);
  return Runs(runs, runs + head.count);
}

void Board::store(ListHead& head, const Runs& runs) {
  if (runs.size() > head.capacity) {
    if (head.capacity != 0) {
      std::uint64_t& first = free_[static_cast<std::size_t>(std::countr_zero(head.capacity))];
      word(head.offset) = first;
      first = head.offset;
    }
    head.capacity = std::bit_ceil(std::max<std::uint64_t>(runs.size(), capacity_least));
    head.offset = allocate(head.capacity);
  }
  head.count = static_cast<std::uint32_t>(runs.size());
  if (!runs.empty()) std::memcpy(own_ + head.offset, runs.data(), runs.size() * sizeof(Run));
}

std::uint64_t Board::allocate(std::uint64_t capacity) {
  std::uint64_t& first = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
  if (first != 0) {
    const std::uint64_t taken = first;
    first = word(taken);
    return taken;
  }
  const std::uint64_t taken = next_;
  next_ += capacity * sizeof(Run);
  if (next_ > layout_.bytes && overflow_ != nullptr) overflow_->on_overflow();
  MUSUBI_CHECK(next_ <= layout_.bytes, "no room for a list of %lu runs", capacity);
  return taken;
}

}  // namespace musubi::coherence::entry
