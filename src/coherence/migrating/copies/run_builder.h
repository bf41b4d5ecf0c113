// Blocks that change their protection together while no thread of the rank runs program code: neighbours in
// one call of the kernel.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/ids.h"
#include "base/sparse_array.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence::migrating {

// One thread at a time.
class RunBuilder {
 public:
  explicit RunBuilder(const vm::Space& space) : space_(space), blocks_(space.blocks_max()) {}

  // A block at most once until the next take_runs().
  void add(BlockId block) { blocks_[count_++] = block; }

  bool empty() const { return count_ == 0; }
  // Calls `change` with each run of neighbours that were added, in one segment each; then there are none.
  template <class Change>
  void take_runs(Change&& change) {
    BlockId* const first = blocks_.data();
    const auto before = [](BlockId a, BlockId b) { return a.value < b.value; };
    if (!std::is_sorted(first, first + count_, before)) std::sort(first, first + count_, before);
    for (std::size_t begin = 0, end = 0; begin < count_; begin = end) {
      const vm::Segment& segment = space_.segment_of(first[begin]);
      const std::uint64_t limit = segment.first_block.value + segment.blocks;
      while (end < count_ && first[end].value < limit && first[end].value - first[begin].value == end - begin)
        ++end;
      change(vm::BlockRun{first[begin], end - begin});
    }
    count_ = 0;
  }

 private:
  const vm::Space& space_;
  SparseArray<BlockId> blocks_;
  std::size_t count_ = 0;
};

}  // namespace musubi::coherence::migrating
