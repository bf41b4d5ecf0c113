#include "coherence/home_based/changes.h"

#include <cstdint>
#include <cstring>

namespace musubi::coherence {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t word_at(const std::byte* place) {
  std::uint64_t value = 0;
  std::memcpy(&value, place, word);
  return value;
}

}  // namespace

// Bytes that are no part of the shared block count as unchanged.
Changes::Changes(const BlockStore& store, const Block& block, std::byte* snapshot)
    : block_(block), snapshot_(snapshot) {
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

std::size_t Changes::end_of_difference(std::size_t begin) const {
  std::size_t end = begin;
  while (end < block_.extent.bytes && snapshot_[end] != block_.published[end]) ++end;
  return end;
}

bool Changes::collect(Puts& puts) {
  for (;;) {
    const std::size_t begin = next_difference();
    at_ = begin;
    if (begin == block_.extent.bytes) return true;
    if (puts.is_full()) return false;
    const std::size_t end = end_of_difference(begin);
    std::memcpy(block_.published + begin, snapshot_ + begin, end - begin);
    puts.add(fabric::put(private_region, block_.extent.offset + begin, snapshot_ + begin, end - begin));
    at_ = end;
  }
}

}  // namespace musubi::coherence
