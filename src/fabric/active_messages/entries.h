// Batches and messages to be sent, and batches that await their reply, from pools of fixed size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/check.h"
#include "base/event.h"
#include "base/spin_lock.h"
#include "fabric/fabric.h"
#include "os/memory.h"

namespace musubi::fabric {

struct Entry {
  Entry* next = nullptr;
  bool is_message = false;
  // Of a batch.
  const Step* steps = nullptr;
  Event* completion = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t sent_ns = 0;
  bool alone = false;  // no other batch to its peer was under way when it was posted
  // Number of steps that have left or may leave at any moment; once all have, the sender no longer reads the
  // steps. Replies are checked against it step by step, because a batch may leave in parts.
  std::atomic<std::uint32_t> steps_written{0};
  // Of a message.
  MessageKind kind{};
  std::byte* body = nullptr;
  std::uint32_t count = 0;  // of a batch: steps; of a message: bytes
};

// First in, first out. One thread at a time.
class EntryQueue {
 public:
  Entry* first() const noexcept { return first_; }
  void push(Entry* entry) noexcept {
    entry->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = entry;
    last_ = entry;
  }
  // Null if empty.
  Entry* pop() noexcept {
    Entry* const entry = first_;
    if (entry != nullptr) first_ = entry->next;
    return entry;
  }

 private:
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
};

// Takes memory only for the largest number of entries in use at once. Any thread, signal-safe; no malloc
// after the constructor.
class EntryPool {
 public:
  // Each entry has a body of `body_bytes` (a multiple of 8).
  EntryPool(std::size_t entries, std::size_t body_bytes)
      : entries_(entries), entry_bytes_(sizeof(Entry) + body_bytes) {
    auto memory = os::Mapping::anywhere(entries * entry_bytes_, os::Protection::read_write);
    MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
    memory_ = std::move(memory).value();
  }

  // Null if all are in use.
  Entry* take() noexcept {
    lock_.lock();
    Entry* entry = free_;
    if (entry != nullptr) {
      free_ = entry->next;
    } else if (touched_ < entries_) {
      std::byte* const place = memory_.data() + touched_++ * entry_bytes_;
      entry = new (place) Entry;
      entry->body = place + sizeof(Entry);
    }
    lock_.unlock();
    return entry;
  }
  void give_back(Entry* entry) noexcept {
    lock_.lock();
    entry->next = free_;
    free_ = entry;
    lock_.unlock();
  }

 private:
  const std::size_t entries_, entry_bytes_;
  os::Mapping memory_;
  SpinLock lock_;
  Entry* free_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  std::size_t touched_ MUSUBI_GUARDED_BY(lock_) = 0;
};

}  // namespace musubi::fabric
