// Blocks that a later release looks at: those that are writable or hold changes, or those that have a public
// copy. Two arrays change places, so that a release can walk one while faults add to the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "base/ids.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"

namespace musubi::coherence {

class BlockList {
 public:
  // A block is listed at most once (Queues::releases, Queues::copies).
  explicit BlockList(std::size_t blocks) : blocks_(blocks), first_(blocks), second_(blocks) {}

  void add(BlockId block) {
    lock_.lock();
    MUSUBI_CHECK(filled_ < blocks_, "a block was listed twice");
    (*filling_)[filled_++] = block;
    lock_.unlock();
  }
  // REQUIRES: no other thread adds or takes.
  bool empty() const { return filled_ == 0; }
  // `blocks` are part of the result of the last take().
  void add_again(std::span<const BlockId> blocks) {
    lock_.lock();
    MUSUBI_CHECK(blocks.size() <= blocks_ - filled_, "a block was listed twice");
    std::copy(blocks.begin(), blocks.end(), filling_->data() + filled_);
    filled_ += blocks.size();
    lock_.unlock();
  }
  // The blocks added since the last take; valid until the next one. One taker at a time.
  std::span<BlockId> take() {
    lock_.lock();
    const std::span<BlockId> taken{filling_->data(), filled_};
    filling_ = filling_ == &first_ ? &second_ : &first_;
    filled_ = 0;
    lock_.unlock();
    return taken;
  }

 private:
  const std::size_t blocks_;
  SpinLock lock_;
  SparseArray<BlockId> first_;
  SparseArray<BlockId> second_;
  SparseArray<BlockId>* filling_ = &first_;
  std::size_t filled_ = 0;
};

}  // namespace musubi::coherence
