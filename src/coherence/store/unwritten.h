// The bytes of blocks that are open for stores alone: words that the program has stored lie among words of
// vm::unwritten. Other threads store at the same time.
#pragma once

#include <cstddef>

#include "coherence/store/block_store.h"
#include "coherence/store/changes.h"

namespace musubi::coherence {

// No thread of this rank may use the block.
void fill_with_unwritten(const BlockStore& store, const Block& block);

// `remote` becomes the twin, and the bytes of all words that the program has not stored.
void fill_unwritten_from(const BlockStore& store, const Block& block, const std::byte* remote);

// Takes the words that the program has stored out of the block, as pieces for a packet. They are kept in the
// public copy, which such a block does not need for a twin.
class WrittenWords {
 public:
  // Under the block's gate, as long as this lives.
  WrittenWords(const BlockStore& store, const Block& block);

  // As those of Changes.
  Changes::Piece next();
  void pass(std::size_t end) { at_ = end; }
  const std::byte* bytes_at(std::size_t offset) const { return block_.published + offset; }

 private:
  const Block& block_;
  std::size_t at_ = 0;
};

}  // namespace musubi::coherence
