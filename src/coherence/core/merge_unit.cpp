#include "coherence/core/merge_unit.h"

#include <algorithm>

#include "base/check.h"

namespace musubi::coherence {
namespace {

constexpr std::size_t int_bytes = 4, double_bytes = 8;

// How the stores to frames are was not looked at.
std::size_t widest_in(const MergeUnit::Block& block, const StoreBound& bound) {
  if (block.segment.merge_unit != 0) return block.segment.merge_unit;
  const bool is_known =
      !block.segment.holds_stacks || block.extent.address < bound.of_stacks.begin + bound.of_stacks.bytes;
  return is_known ? bound.bytes : 1;
}

std::size_t word_bytes_for(std::size_t widest) {
  return widest == double_bytes ? double_bytes : int_bytes;
}

}  // namespace

MergeUnit::MergeUnit(const Block& block, const StoreBound& bound, Rank other, trace::Counters& counters,
                     RaceLog* log)
    : WordRule(word_bytes_for(widest_in(block, bound)), block.segment.merge_unit == 0),
      block_(block),
      bound_(bound),
      widest_(widest_in(block, bound)),
      other_(other),
      counters_(counters),
      log_(log) {}

std::size_t MergeUnit::unit_of(const Conflict& conflict) noexcept {
  const std::uintptr_t address = address_of(conflict.place);
  const std::size_t unit = unit_in(address, conflict.bytes);
  if (unit < conflict.bytes && conflict.bytes > int_bytes) return unit;  // each half is asked for
  note(conflict.place, conflict.bytes, unit == conflict.bytes);
  return unit;
}

void MergeUnit::note(const std::byte* place, std::size_t bytes, bool kept_whole) noexcept {
  MUSUBI_CHECK(bytes == int_bytes || bytes == double_bytes);
  counters_.add(kept_whole ? trace::Counter::words_kept_whole : trace::Counter::words_joined);
  if (log_ != nullptr) log_->note(address_of(place), bytes, other_, kept_whole);
}

// If this rank is known to store whole words, its thread has written each byte of the word: the other side's
// change has no order with it.
std::size_t MergeUnit::unit_in(std::uintptr_t word, std::size_t bytes) const {
  if (block_.segment.merge_unit != 0) return std::min<std::size_t>(block_.segment.merge_unit, bytes);
  const bool is_known = !block_.segment.holds_stacks || bound_.of_stacks.contains(word);
  return widest_ == 1 || !is_known ? 1 : bound_.unit_at(word, bytes);
}

std::size_t MergeUnit::unit_at(std::size_t offset) const {
  MUSUBI_CHECK(offset < block_.extent.bytes);
  const std::uintptr_t address = block_.extent.address + offset;
  if (widest_ == double_bytes && unit_in(address / double_bytes * double_bytes, double_bytes) == double_bytes)
    return double_bytes;
  return unit_in(address / int_bytes * int_bytes, int_bytes);
}

}  // namespace musubi::coherence
