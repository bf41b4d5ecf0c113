#include "coherence/core/merge_unit.h"

#include <algorithm>

namespace musubi::coherence {
namespace {

constexpr std::size_t int_bytes = 4, double_bytes = 8;

std::size_t word_bytes_for(const vm::Segment& segment, std::size_t narrowest) {
  const std::size_t unit = segment.merge_unit != 0 ? segment.merge_unit : narrowest;
  return unit == double_bytes ? double_bytes : int_bytes;
}

// Whether the parts of two ranks in an array of smaller elements may meet in this word: every byte was
// changed by exactly one side, and all of the one lie before those of the other. Of two values hardly ever
// all bytes differ so.
bool is_border(const WordRule::Conflict& conflict, std::size_t bytes) {
  unsigned own = 0, remote = 0;  // a bit per byte
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = [i](std::uint64_t word) { return word >> 8 * i & 0xff; };
    own |= unsigned{byte(conflict.own) != byte(conflict.twin)} << i;
    remote |= unsigned{byte(conflict.remote) != byte(conflict.twin)} << i;
  }
  const auto begins_all = [](unsigned first, unsigned second) { return first < (second & (~second + 1)); };
  return (own | remote) == (1u << bytes) - 1 && (begins_all(own, remote) || begins_all(remote, own));
}

}  // namespace

MergeUnit::MergeUnit(const Block& block, StoreEvidence own, StoreEvidence remote, Rank other,
                     trace::Counters& counters, RaceLog* log)
    : WordRule(word_bytes_for(block.segment, own.with_widths_of(remote).narrowest())),
      block_(block),
      own_(own),
      remote_(remote),
      narrowest_(own.with_widths_of(remote).narrowest()),
      other_(other),
      counters_(counters),
      log_(log),
      is_byte_(log == nullptr &&
               (block.segment.merge_unit == 1 || (block.segment.merge_unit == 0 && narrowest_ == 1))) {}

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
  if (narrowest_ == 0) return 1;
  if (narrowest_ < int_bytes) return narrowest_;
  // One store wrote all of it: what the other side has changed there, it has changed without an order.
  if (own_.covers(offset, word_bytes()) || remote_.covers(offset, word_bytes())) return word_bytes();
  return block_.segment.mixed_types || is_border(conflict, word_bytes()) ? 1 : word_bytes();
}

}  // namespace musubi::coherence
