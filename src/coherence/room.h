// The services of a policy for a rank whose memory gets short (docs/decisions/memory.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/task.h"

namespace musubi::coherence {

// Homes that may move.
struct Offer {
  std::size_t count;        // blocks that are at rest
  std::size_t freed_bytes;  // of public copies that they have no more
};

// Part of a Protocol. Any thread; no caller holds a gate.
class Room {
 public:
  // Bytes of the blocks that are kept here, without their public copies.
  virtual std::size_t resident_bytes() const = 0;
  // Throws out clean copies of blocks whose home is elsewhere, until `bytes` are free, those first that were
  // not used for longest. Result: how many are; fewer when no more can go. Waits for no other rank but
  // one-sided.
  virtual Task<std::size_t> throw_out(std::size_t bytes) = 0;

  // Homes move in three steps, of which the second is done at a rank with room.
  // 1. Brings homes here to rest, those first that came first, and puts them to `blocks`.
  virtual Task<Offer> offer(std::span<BlockId> blocks) = 0;
  // 2. That rank becomes the home of those `blocks` that fit into `bytes`. Waits for the locks of blocks.
  //    Result: the bytes that it has taken.
  virtual Task<std::size_t> take_over(std::span<const BlockId> blocks, std::size_t bytes) = 0;
  // 3. Throws out the blocks that have moved. Result: the bytes that are free now.
  virtual Task<std::size_t> end_offer(std::span<const BlockId> blocks) = 0;

  // Zeros for the blocks [first, first+count), as if the calling thread stored them, and no memory: the
  // program has no use for the old bytes. Result: whether all blocks are so. A block that cannot be, for
  // example because its home is elsewhere, keeps its bytes, or its copy here goes as by throw_out().
  virtual Task<bool> discard(BlockId first, std::uint64_t count) = 0;

  // The kept bytes of blocks whose home was elsewhere when they were last looked at.
  virtual std::size_t copy_bytes() const = 0;
  // Of the blocks that may move.
  virtual std::size_t smallest_block_bytes() const = 0;
  virtual std::size_t largest_block_bytes() const = 0;

 protected:
  ~Room() = default;
};

}  // namespace musubi::coherence
