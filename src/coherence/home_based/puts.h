// The puts of a release to the home of one block, as steps of batches.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/store/changes.h"
#include "fabric/fabric.h"

namespace musubi::coherence {

// Steps of one batch; a policy may add steps of its own after the changes. Lives in the task that posts them.
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

// Adds puts of the values that differ from the twin, until `puts` is full; the twin gets the bytes put.
// Result: whether all have been added.
bool collect(Changes& changes, const Block& block, Puts& puts);

}  // namespace musubi::coherence
