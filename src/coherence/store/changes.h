// The changes of this rank to one block, for a home elsewhere: only the bytes that differ from the twin.
// Values that are known to be one word count as a whole (docs/decisions/races.md).
#pragma once

#include <cstddef>

#include "coherence/core/merge_unit.h"
#include "coherence/store/block_store.h"

namespace musubi::coherence {

// Found in one look at the private bytes: writes of other threads during the look go out with the next
// release.
class Changes {
 public:
  // Bytes of a block, or none.
  struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool empty() const { return begin == end; }
  };
  // Under the block's gate, as long as this lives. `snapshot` has room for the block and lives as long.
  // `value`: an atomic operation has stored it at once.
  Changes(BlockStore& store, const Block& block, std::byte* snapshot, Piece value);

  // The first values that differ from the twin, from the last pass() on; empty: there are no more.
  Piece next();
  // How many bytes next() would tell of until the end.
  std::size_t bytes_left();
  // The bytes before `end` have been dealt with; passed(): the end of these.
  void pass(std::size_t end) { at_ = end; }
  std::size_t passed() const { return at_; }
  // The private bytes, as they were.
  const std::byte* bytes_at(std::size_t offset) const { return snapshot_ + offset; }

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
