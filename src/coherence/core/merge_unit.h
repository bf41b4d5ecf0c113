// Decides for each word whether two ranks have changed neighbours in it, so that each keeps its own, or one
// value, so that the last release keeps all of it (docs/decisions/races.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/store_bound.h"
#include "coherence/core/merge.h"
#include "coherence/core/race_log.h"
#include "trace/counters.h"
#include "vm/space.h"

namespace musubi::coherence {

// For one merge of one block.
class MergeUnit final : public WordRule {
 public:
  struct Block {
    const vm::Segment& segment;
    vm::Extent extent;
    const std::byte* own;  // private bytes
  };
  // `log` may be null: then words are only counted. `bound`: of all stores that made the private bytes differ
  // from the twin. `other`: the rank that the remote bytes come from.
  MergeUnit(const Block& block, const StoreBound& bound, Rank other, trace::Counters& counters, RaceLog* log);

  // Where the program sees a place of the private bytes of this merge.
  std::uintptr_t address_of(const std::byte* place) const noexcept {
    return block_.extent.address + static_cast<std::size_t>(place - block_.own);
  }
  Rank other() const { return other_; }
  // Whether merging by byte is right for the whole block, and nothing is to be noted: no rule is needed.
  bool is_byte() const { return log_ == nullptr && block_.segment.merge_unit == 1; }
  std::size_t unit_of(const Conflict& conflict) noexcept override;
  // Counts a word at `place` of the private bytes that both sides have changed, and tells the log.
  void note(const std::byte* place, std::size_t bytes, bool kept_whole) noexcept;
  // How many bytes around `offset` of the block, aligned, this rank has stored as one value where it has
  // changed one of them, as far as is known: 1, 2, 4 or 8. The changes of the other side are not known here.
  std::size_t unit_at(std::size_t offset) const;
  // The widest that unit_at() finds.
  std::size_t widest_unit() const { return widest_; }

 private:
  // How wide the pieces of the `bytes` bytes at `word` are that are one value.
  std::size_t unit_in(std::uintptr_t word, std::size_t bytes) const;

  const Block block_;
  const StoreBound bound_;
  const std::size_t widest_;
  const Rank other_;
  trace::Counters& counters_;
  RaceLog* const log_;
};

}  // namespace musubi::coherence
