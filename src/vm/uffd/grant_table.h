// Per block: the access that the engine granted. Sparse: takes memory only for blocks that were opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/sparse_array.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

// Any thread, also inside a signal handler. The caller serialises work on one block, except hold().
class GrantTable {
 public:
  // REQUIRES: all segments of `space` are added. Ends the process if address space runs out.
  explicit GrantTable(const Space& space) : cells_(space.blocks_max()) {}

  // REQUIRES: every block of the run has been granted between `from_least` and `from_most`. Waits for holders
  // of the blocks.
  void grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept;
  // As grant() from none; left open for good.
  void leave_open(BlockRun run) noexcept;
  bool is_left_open(BlockId block) const noexcept;

  // Until release(), freezes the granted access, if it is `wanted` or more. Result: the granted access;
  // nothing if it is less, or the block was left open.
  std::optional<Access> hold(BlockId block, Access wanted) noexcept;
  void release(BlockId block) noexcept;

 private:
  using Cell = std::uint8_t;  // an Access or left_open, and the held bit
  static constexpr Cell left_open = 3;
  static constexpr Cell held = 4;

  std::atomic_ref<Cell> cell(BlockId block) const noexcept {
    return std::atomic_ref<Cell>(cells_.data()[block.value]);
  }
  void change(BlockRun run, Access from_least, Access from_most, Cell to) noexcept;

  mutable SparseArray<Cell> cells_;
};

}  // namespace musubi::vm
