#include "coherence/core/merge_unit.h"

#include <algorithm>

namespace musubi::coherence {
namespace {

constexpr std::size_t int_bytes = 4, double_bytes = 8;

std::size_t word_bytes_for(const vm::Segment& segment, std::size_t narrowest) {
  const std::size_t unit = segment.merge_unit != 0 ? segment.merge_unit : narrowest;
  return unit == double_bytes ? double_bytes : int_bytes;
}

// Whether both sides changed the same byte. Without a race nobody does.
bool is_race(const WordRule::Conflict& conflict, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = [i](std::uint64_t word) { return word >> 8 * i & 0xff; };
    const std::uint64_t before = byte(conflict.twin);
    if (byte(conflict.own) != before && byte(conflict.remote) != before) return true;
  }
  return false;
}

}  // namespace

MergeUnit::MergeUnit(const Block& block, StoreEvidence own, StoreEvidence remote, Rank other,
                     trace::Counters& counters, RaceLog* log)
    : WordRule(word_bytes_for(block.segment, own.with_widths_of(remote).narrowest())),
      block_(block),
      own_(own),
      other_(other),
      counters_(counters),
      log_(log),
      is_byte_(log == nullptr && block.segment.merge_unit == 1) {}

std::size_t MergeUnit::unit_of(const Conflict& conflict) noexcept {
  const auto offset = static_cast<std::size_t>(conflict.place - block_.own);
  any_ = true;
  const std::size_t unit = decide(conflict, offset);
  const bool whole = unit == word_bytes();
  counters_.add(whole ? trace::Counter::words_kept_whole : trace::Counter::words_joined);
  if (log_ != nullptr) log_->note(block_.extent.address + offset, word_bytes(), other_, whole);
  return unit;
}

std::size_t MergeUnit::decide(const Conflict& conflict, std::size_t offset) const {
  if (block_.segment.merge_unit != 0) return std::min<std::size_t>(block_.segment.merge_unit, word_bytes());
  // What the other side has changed of a word that one store of this interval wrote, or that has a byte which
  // both changed, it has changed without an order.
  const bool is_value = is_race(conflict, word_bytes()) || own_.covers(offset, word_bytes());
  return is_value ? word_bytes() : 1;
}

}  // namespace musubi::coherence
