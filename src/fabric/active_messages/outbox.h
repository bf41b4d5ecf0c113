// Request lanes, sending side: entries to be sent to each peer, and batches that await their reply. Entries
// posted while an earlier request to the same peer is under way, or while a thread sends, leave together.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "base/spin_lock.h"
#include "fabric/active_messages/transport.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "os/memory.h"

namespace musubi::fabric {

// Batches and messages to be sent, and batches that await their reply, from pools of fixed size.
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

// Bytes on their way into a lane: an ordered list of pieces, some copied here, some referred to in place.
// Bytes offered to the transport stay unchanged until it takes them.
// One thread at a time.
class Gather {
 public:
  // `scratch` holds copied bytes, and outlives this.
  void use(std::span<std::byte> scratch) noexcept { scratch_ = scratch; }

  bool empty() const noexcept { return first_ == end_; }
  // Whether `bytes` more can be copied, in up to `pieces` more pieces.
  bool has_room(std::size_t bytes, std::size_t pieces) const noexcept {
    return scratch_.size() - used_ >= bytes && pieces_max - end_ >= pieces;
  }

  // REQUIRES, for copy and refer_to: has_room.
  void copy(const void* from, std::size_t bytes) noexcept {
    std::byte* const to = scratch_.data() + used_;
    std::memcpy(to, from, bytes);
    used_ += bytes;
    if (!empty() && pieces_[end_ - 1].data() + pieces_[end_ - 1].size() == to) {
      pieces_[end_ - 1] = Piece(pieces_[end_ - 1].data(), pieces_[end_ - 1].size() + bytes);
    } else {
      pieces_[end_++] = Piece(to, bytes);
    }
  }
  void refer_to(const void* from, std::size_t bytes) noexcept {
    pieces_[end_++] = Piece(static_cast<const std::byte*>(from), bytes);
  }

  std::span<const Piece> pieces() const noexcept { return std::span(pieces_).subspan(first_, end_ - first_); }

  // Removes bytes that the transport took.
  void taken(std::size_t bytes) noexcept {
    while (!empty() && bytes >= pieces_[first_].size()) bytes -= pieces_[first_++].size();
    if (!empty()) {
      pieces_[first_] = pieces_[first_].subspan(bytes);
      return;
    }
    MUSUBI_CHECK(bytes == 0, "more was taken than offered");
    first_ = end_ = used_ = 0;
  }

 private:
  std::span<std::byte> scratch_;
  std::size_t used_ = 0, first_ = 0, end_ = 0;
  std::array<Piece, pieces_max> pieces_;
};

// Any thread, signal-safe, unless a function says otherwise.
class Outbox {
 public:
  // Limits on what is under way from this rank. Excess is refused as busy.
  struct Limits {
    std::size_t batches = 4096, batches_per_peer = 512;
    std::size_t messages = 1024, messages_per_peer = 128;  // not taken by the transport yet
  };

  Outbox(Transport& transport, Limits limits, Hooks hooks);

  // Fabric::post and Fabric::send to a peer. Result: pending (done) or busy. A batch leaves now if no other
  // one is under way to its peer, otherwise at flush(); a message leaves now. Bytes held up by a full lane
  // leave at writable().
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  Outcome send(Rank peer, MessageKind kind, std::span<const std::byte> body) noexcept;

  // Sends deferred batches. Result: whether there were any.
  bool flush() noexcept;
  void writable(Rank peer) noexcept;
  // The peer is gone: batches posted to it, before or after, never complete.
  void drop(Rank peer) noexcept { targets_[peer.value].lost.store(true); }

  // The batch whose reply comes next; null if none is awaited. Valid until answered(). One thread at a time.
  const Entry* awaited(Rank peer) noexcept;
  // Its reply is complete: removes it. Result: the completion, for the caller to set.
  Event* answered(Rank peer) noexcept;

 private:
  struct alignas(64) Target {
    SpinLock lock;
    EntryQueue waiting MUSUBI_GUARDED_BY(lock);     // to be sent
    EntryQueue unanswered MUSUBI_GUARDED_BY(lock);  // sent, or being sent
    std::size_t messages MUSUBI_GUARDED_BY(lock) = 0;
    std::atomic<std::size_t> under_way{0};  // batches
    std::atomic<bool> lost{false};

    // A try-only lock for the members below: one thread sends, and checks again for other threads' entries.
    std::atomic<bool> sending{false};
    Gather gather;
    Entry* writing = nullptr;  // the batch whose steps are being written to the gather
    std::uint64_t sequence = 0;
    EntryQueue leaving;  // messages whose bodies the gather refers to

    // `openings` counts writable(); the lane is full if `full_since` is the current count.
    std::atomic<std::uint64_t> openings{1}, full_since{0};

    bool is_full() const noexcept { return full_since.load() == openings.load(); }
  };

  void flush(Rank peer) noexcept;
  bool send_what_waits(Rank peer, Target& target) noexcept;
  void fill(Target& target) noexcept;
  Entry* next(Target& target) noexcept;
  void write_message(Target& target, Entry* entry) noexcept;
  void begin_batch(Target& target, Entry* entry) noexcept;
  void write_step(Target& target) noexcept;
  void release_messages(Target& target) noexcept;
  void put_off(Rank peer) noexcept;

  Transport& transport_;
  const Limits limits_;
  [[no_unique_address]] const Hooks hooks_;
  EntryPool batches_, messages_;
  os::Mapping scratch_;
  std::vector<Target> targets_;
  std::vector<std::atomic<std::uint64_t>> put_off_;  // a bit per peer
};

}  // namespace musubi::fabric
