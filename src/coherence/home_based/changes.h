// What a release brings to the home of one block, as steps of batches: only what differs from the twin.
// Values that are known to be one word go as a whole (docs/decisions/merge_unit.md).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/buffer_pool.h"
#include "base/check.h"
#include "coherence/core/merge_unit.h"
#include "coherence/regions.h"
#include "coherence/store/block_store.h"
#include "fabric/fabric.h"

namespace musubi::coherence {

// Steps of one batch; a policy may add some of its own behind the changes. Lives in the task that posts them.
class Puts {
 public:
  static constexpr std::size_t of_changes_max = 24;
  static constexpr std::size_t of_policy_max = 3;

  void add(const fabric::Step& step) {
    MUSUBI_CHECK(count_ < steps_.size());
    steps_[count_++] = step;
  }
  std::span<const fabric::Step> steps() const { return {steps_.data(), count_}; }
  bool empty() const { return count_ == 0; }
  bool is_full() const { return count_ >= of_changes_max; }
  void clear() { count_ = 0; }

 private:
  std::array<fabric::Step, of_changes_max + of_policy_max> steps_;
  std::size_t count_ = 0;
};

// The changes of this rank to a block, found in one look at its private bytes: threads that write meanwhile
// add to the next release.
class Changes {
 public:
  // Bytes of a block, or none.
  struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // Under the block's gate, as long as this lives. `snapshot` has room for the block and lives as long.
  // `value`: an atomic operation has stored it at once.
  Changes(BlockStore& store, const Block& block, std::byte* snapshot, Piece value);

  // Adds puts of the values that differ from the twin, until `puts` is full; the twin becomes what is put.
  // Result: whether all have been added.
  bool collect(Puts& puts);

 private:
  std::size_t next_difference();
  Piece value_around(std::size_t at) const;
  Piece difference_from(std::size_t begin) const;

  const Block& block_;
  std::byte* const snapshot_;
  const MergeUnit unit_;
  const Piece value_;
  const bool by_byte_;
  std::size_t at_ = 0;
};

}  // namespace musubi::coherence
