// The gates of blocks. A task holds a block's gate while it works on the block. Blocks share gates, so a task
// holds one at a time.
#pragma once

#include <array>
#include <cstddef>

#include "base/event.h"
#include "coherence/core/block_words.h"

namespace musubi::coherence {

template <std::size_t count>
class BlockGates {
 public:
  // Neighbours have different gates, for the sake of runs, and so have blocks that lie a power of two apart:
  // rows of a matrix, the parts of the ranks.
  Gate& of(BlockId id) noexcept { return gates_[(id.value + id.value / count) % count]; }

  auto begin() noexcept { return gates_.begin(); }
  auto end() noexcept { return gates_.end(); }

 private:
  std::array<Gate, count> gates_;
};

}  // namespace musubi::coherence
