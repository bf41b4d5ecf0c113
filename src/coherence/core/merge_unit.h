// Decides word by word whether what two ranks changed are neighbours, of which each keeps its own, or one
// value, of which the last release keeps all (docs/decisions/merge_unit.md).
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
  MergeUnit(const Block& block, StoreBound bound, Rank other, trace::Counters& counters, RaceLog* log);

  // Where the program sees a place of the private bytes of this merge.
  std::uintptr_t address_of(const std::byte* place) const noexcept {
    return block_.extent.address + static_cast<std::size_t>(place - block_.own);
  }
  Rank other() const { return other_; }
  // Whether merging by byte is right for the whole block, and nothing is to be noted: no rule is needed.
  bool is_byte() const { return is_byte_; }
  std::size_t unit_of(const Conflict& conflict) noexcept override;
  // How many bytes around `offset` of the block, aligned, this rank has stored as one value where it has
  // changed one of them, as far as is known: 1, 2, 4 or 8. What the other side has changed is not known here.
  std::size_t unit_at(std::size_t offset) const;
  // The widest that unit_at() finds.
  std::size_t widest_unit() const;

 private:
  std::size_t decide(const Conflict& conflict, std::uintptr_t address) const;
  bool is_stored_whole(std::uintptr_t address) const;

  const Block block_;
  const StoreBound bound_;
  const Rank other_;
  trace::Counters& counters_;
  RaceLog* const log_;
  const bool is_byte_;
};

}  // namespace musubi::coherence
