// Free objects stored at a heap in batches: a lock-free stack (Treiber) for each class, and one of empty
// nodes, in the heap itself, changed by one-sided operations alone. A node is never used for other purposes,
// so a stale read of one is harmless; the tag in the head makes the exchange after it fail.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "base/thread_safety.h"
#include "fabric/fabric.h"
#include "global_heap/layout.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// The content of a node.
struct Batch {
  static constexpr std::uint64_t run_mark = std::uint64_t{1} << 63;

  std::uint64_t next = 0;   // number of the node below; 0: none
  std::uint64_t count = 0;  // of objects; with run_mark they are contiguous from offsets[0] on
  std::array<std::uint64_t, batch_objects_max> offsets;
};
inline constexpr std::uint64_t node_bytes = 512;
// The part of an empty node that is used: `count` contiguous empty nodes begin with this one.
inline constexpr std::size_t empty_bytes = offsetof(Batch, offsets);
static_assert(sizeof(Batch) == node_bytes);

class BatchStacks {
 public:
  static constexpr unsigned empties = class_count;

  BatchStacks(fabric::Fabric& fabric, const HeapLayout& layout, Hooks hooks = {})
      : fabric_(fabric), layout_(layout), hooks_(hooks) {}

  // Takes the top node and reads its first `bytes` bytes. Result: the node's offset; nothing: the stack is
  // empty. Any thread; lock-free. `content` lives until the task ends.
  Task<std::optional<std::uint64_t>> pop(Rank owner, unsigned stack, Batch& content, std::size_t bytes);
  // Writes the first `bytes` bytes of `content` into the caller's node and pushes it. Otherwise as pop.
  Task<> push(Rank owner, unsigned stack, std::uint64_t node, Batch& content, std::size_t bytes);

 private:
  fabric::Fabric& fabric_;
  const HeapLayout layout_;
  const Hooks hooks_;
};

// Batches for which a full heap had no node. They wait in this process, for any of its threads.

// Any thread.
class PendingBatches {
 public:
  void put(Rank owner, unsigned size_class, const Batch& batch) {
    auto made = std::make_unique<Entry>(Entry{owner, size_class, batch, nullptr});
    const Held held(lock_);
    made->next = std::move(first_);
    first_ = std::move(made);
    any_.store(true, std::memory_order_relaxed);
  }
  bool take(Rank owner, unsigned size_class, Batch& batch) {
    if (!any_.load(std::memory_order_relaxed)) return false;
    std::unique_ptr<Entry> found;  // destroyed after the lock is released
    const Held held(lock_);
    std::unique_ptr<Entry>* place = &first_;
    while (*place != nullptr && ((*place)->owner != owner || (*place)->size_class != size_class)) {
      place = &(*place)->next;
    }
    if (*place == nullptr) return false;
    found = std::move(*place);
    *place = std::move(found->next);
    any_.store(first_ != nullptr, std::memory_order_relaxed);
    batch = found->batch;
    return true;
  }
  // The number of waiting batches. For tests.
  std::size_t count() {
    const Held held(lock_);
    std::size_t entries = 0;
    for (const Entry* entry = first_.get(); entry != nullptr; entry = entry->next.get()) ++entries;
    return entries;
  }

 private:
  struct Entry {
    Rank owner;
    unsigned size_class;
    Batch batch;
    std::unique_ptr<Entry> next;
  };

  std::atomic<bool> any_{false};
  SpinLock lock_;
  std::unique_ptr<Entry> first_ MUSUBI_GUARDED_BY(lock_);
};

}  // namespace musubi::global_heap
