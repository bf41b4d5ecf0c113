#include "coherence/store/changes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace musubi::coherence {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t word_at(const std::byte* place) {
  std::uint64_t value = 0;
  std::memcpy(&value, place, word);
  return value;
}

}  // namespace

// Bytes that are no part of the shared block count as unchanged. Parts begin and end anywhere, inside of
// words too.
Changes::Changes(BlockStore& store, const Block& block, std::byte* snapshot, Piece value)
    : block_(block),
      snapshot_(snapshot),
      unit_(store.unit_of(block, block.own, block.initial_home)),
      value_(value),
      by_byte_(store.has_private_parts(block) || unit_.widest_unit() == 1) {
  if (store.has_private_parts(block)) std::memcpy(snapshot, block.published, block.extent.bytes);
  store.for_each_part(
      block, [&](std::size_t at, std::size_t bytes) { std::memcpy(snapshot + at, block.own + at, bytes); });
}

std::size_t Changes::next_difference() {
  const std::size_t end = block_.extent.bytes;
  std::size_t at = at_;
  while (at < end && at % word != 0 && snapshot_[at] == block_.published[at]) ++at;
  if (at < end && at % word != 0) return at;
  while (at + word <= end && word_at(snapshot_ + at) == word_at(block_.published + at)) at += word;
  while (at < end && snapshot_[at] == block_.published[at]) ++at;
  return at;
}

Changes::Piece Changes::value_around(std::size_t at) const {
  MUSUBI_CHECK(at < block_.extent.bytes);
  if (value_.begin <= at && at < value_.end) return value_;
  if (by_byte_) return {at, at + 1};
  const std::size_t unit = unit_.unit_at(at);
  const std::size_t begin = at & -unit;
  return {begin, std::min(begin + unit, block_.extent.bytes)};
}

Changes::Piece Changes::difference_from(std::size_t begin) const {
  MUSUBI_CHECK(begin < block_.extent.bytes);
  const std::size_t bytes = block_.extent.bytes;
  std::size_t end = begin;
  if (by_byte_ && value_.end == 0) {  // mostly
    while (end < bytes && snapshot_[end] != block_.published[end]) ++end;
    return {begin, end};
  }
  while (end < bytes && snapshot_[end] != block_.published[end]) end = value_around(end).end;
  return {value_around(begin).begin, end};
}

Changes::Piece Changes::next() {
  at_ = next_difference();
  return at_ == block_.extent.bytes ? Piece{at_, at_} : difference_from(at_);
}

std::size_t Changes::bytes_left() {
  const std::size_t at = at_;
  std::size_t bytes = 0;
  for (Piece piece = next(); !piece.empty(); piece = next()) {
    bytes += piece.end - piece.begin;
    pass(piece.end);
  }
  pass(at);
  return bytes;
}

}  // namespace musubi::coherence
