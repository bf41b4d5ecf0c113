#include "coherence/core/merge_unit.h"

#include <algorithm>

namespace musubi::coherence {
namespace {

constexpr std::size_t int_bytes = 4, double_bytes = 8;

// How the stores to frames are was not looked at.
std::size_t unit_in(const vm::Segment& segment, const StoreBound& bound) {
  if (segment.merge_unit != 0) return segment.merge_unit;
  return segment.holds_stacks ? 1 : bound.bytes;
}

std::size_t word_bytes_for(std::size_t unit) {
  return unit == double_bytes ? double_bytes : int_bytes;
}

// Whether both sides changed the same byte, to different values. Without a race nobody does.
bool is_race(const WordRule::Conflict& conflict, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = [i](std::uint64_t word) { return word >> 8 * i & 0xff; };
    const std::uint64_t before = byte(conflict.twin), own = byte(conflict.own),
                        remote = byte(conflict.remote);
    if (own != before && remote != before && own != remote) return true;
  }
  return false;
}

}  // namespace

MergeUnit::MergeUnit(const Block& block, StoreBound bound, Rank other, trace::Counters& counters,
                     RaceLog* log)
    : WordRule(word_bytes_for(unit_in(block.segment, bound)), block.segment.merge_unit == 0),
      block_(block),
      bound_(bound),
      other_(other),
      counters_(counters),
      log_(log),
      is_byte_(log == nullptr && block.segment.merge_unit == 1) {}

std::size_t MergeUnit::unit_of(const Conflict& conflict) noexcept {
  const std::uintptr_t address = address_of(conflict.place);
  const std::size_t unit = decide(conflict, address);
  const bool whole = unit == word_bytes();
  counters_.add(whole ? trace::Counter::words_kept_whole : trace::Counter::words_joined);
  if (log_ != nullptr) log_->note(address, word_bytes(), other_, whole);
  return unit;
}

std::size_t MergeUnit::decide(const Conflict& conflict, std::uintptr_t address) const {
  if (block_.segment.merge_unit != 0) return std::min<std::size_t>(block_.segment.merge_unit, word_bytes());
  // Where this side stored the word as a whole, or both sides changed one byte of it, the other side's change
  // has no order with ours.
  return is_race(conflict, word_bytes()) || is_stored_whole(address) ? word_bytes() : 1;
}

std::size_t MergeUnit::unit_at(std::size_t offset) const {
  if (block_.segment.merge_unit != 0) return block_.segment.merge_unit;
  return is_stored_whole(block_.extent.address + offset / word_bytes() * word_bytes()) ? word_bytes() : 1;
}

std::size_t MergeUnit::widest_unit() const {
  if (block_.segment.merge_unit != 0) return block_.segment.merge_unit;
  return unit_in(block_.segment, bound_) < word_bytes() ? 1 : word_bytes();
}

bool MergeUnit::is_stored_whole(std::uintptr_t address) const {
  if (unit_in(block_.segment, bound_) < word_bytes()) return false;
  const std::uintptr_t end = address + word_bytes();
  return std::ranges::none_of(bound_.exceptions, [address, end](const NarrowPlace& place) {
    const std::uintptr_t place_end = place.address + place.bytes;
    const bool covers = place.address <= address && end <= place_end;
    return place.address < end && address < place_end && !covers;
  });
}

}  // namespace musubi::coherence
