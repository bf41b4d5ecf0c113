// Batches for which a full heap had no node. They wait in this process, for any of its threads.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/held.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "global_heap/batch_stacks.h"

namespace musubi::global_heap {

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
