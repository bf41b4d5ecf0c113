// The changes that a release brings to the home of one block, as steps of batches: only bytes that differ
// from the twin.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/buffer_pool.h"
#include "base/check.h"
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
  // Under the block's gate, as long as this lives. `snapshot` has room for the block and lives as long.
  Changes(const BlockStore& store, const Block& block, std::byte* snapshot);

  // Adds puts of exactly the bytes that differ from the twin, until `puts` is full; the twin becomes what is
  // put. Result: whether all have been added.
  bool collect(Puts& puts);

 private:
  std::size_t next_difference();
  std::size_t end_of_difference(std::size_t begin) const;

  const Block& block_;
  std::byte* const snapshot_;
  std::size_t at_ = 0;
};

}  // namespace musubi::coherence
