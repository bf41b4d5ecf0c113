// The blocks of this rank that may be read, by the time until which they may: the priority queue of paper TS.
// An element may be out of date, because its block was renewed since. The caller then looks at the entry and
// puts the element back.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/ids.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"

namespace musubi::coherence {

class LeaseQueue {
 public:
  // A block is in the queue at most once (Queues::leases), so one place per block is enough.
  explicit LeaseQueue(std::size_t blocks) : blocks_(blocks), heap_(blocks) {}

  void push(LogicalTime read_ts, BlockId block) {
    lock_.lock();
    MUSUBI_CHECK(size_ < blocks_, "a block is in the queue twice");
    heap_[size_++] = Element{read_ts, block};
    std::push_heap(heap_.data(), heap_.data() + size_, later_first);
    lock_.unlock();
  }
  // Takes the block whose time ends first if that is before `time`.
  bool pop_before(LogicalTime time, BlockId* block) {
    lock_.lock();
    const bool found = size_ > 0 && heap_[0].read_ts < time;
    if (found) {
      *block = heap_[0].block;
      std::pop_heap(heap_.data(), heap_.data() + size_--, later_first);
    }
    lock_.unlock();
    return found;
  }

 private:
  struct Element {
    LogicalTime read_ts;
    BlockId block;
  };
  static bool later_first(const Element& a, const Element& b) { return a.read_ts > b.read_ts; }

  const std::size_t blocks_;
  SpinLock lock_;
  SparseArray<Element> heap_;
  std::size_t size_ = 0;
};

}  // namespace musubi::coherence
