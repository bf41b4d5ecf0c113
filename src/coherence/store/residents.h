// The blocks whose bytes take memory at this rank, in the order in which they came: in a queue of those that
// were used last, of those on trial (evictions.cpp), or of those that had changes, or their home here, when
// they were looked at (homes.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/ids.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"
#include "coherence/core/entry.h"

namespace musubi::coherence {

class Residents {
 public:
  explicit Residents(std::size_t blocks) : next_(blocks) {}

  // Under the block's gate. A block that stands in a queue already stays there.
  void add(BlockId block, Entry& entry, std::size_t bytes, Residence residence) {
    MUSUBI_CHECK(residence != Residence::none && !entry.copy.pinned);
    if (entry.queues.residence != Residence::none) return;
    entry.queues.residence = residence;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (residence != Residence::home) copy_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    Queue& queue = queue_of(residence);
    lock_.lock();
    (queue.blocks != 0 ? next_[queue.last.value] : queue.first) = block;
    queue.last = block;
    ++queue.blocks;
    lock_.unlock();
  }
  // The block that has stood in the queue for longest. Its entry still says that it does: leave() follows.
  std::optional<BlockId> take(Residence residence) {
    Queue& queue = queue_of(residence);
    std::optional<BlockId> taken;
    lock_.lock();
    if (queue.blocks != 0) {
      taken = queue.first;
      if (--queue.blocks != 0) queue.first = next_[queue.first.value];
    }
    lock_.unlock();
    return taken;
  }
  // Under the gate of a block that was taken.
  void leave(Entry& entry, std::size_t bytes) {
    MUSUBI_CHECK(entry.queues.residence != Residence::none && this->bytes() >= bytes);
    if (entry.queues.residence != Residence::home) copy_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    entry.queues.residence = Residence::none;
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // The rest: any thread.
  std::size_t blocks(Residence residence) {
    lock_.lock();
    const std::size_t blocks = queue_of(residence).blocks;
    lock_.unlock();
    return blocks;
  }
  // All blocks that stand in a queue.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The blocks in the two queues of copies.
  std::size_t copy_bytes() const { return copy_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Queue {
    BlockId first{};
    BlockId last{};
    std::size_t blocks = 0;
  };
  Queue& queue_of(Residence residence) {
    MUSUBI_CHECK(residence != Residence::none);
    return queues_[static_cast<std::size_t>(residence) - 1];
  }

  SpinLock lock_;
  SparseArray<BlockId> next_;  // in the queue of each; a block stands in one at most
  std::array<Queue, 3> queues_;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> copy_bytes_{0};
};

}  // namespace musubi::coherence
