// The lanes of requests, from this rank: what waits to be sent to each peer, and the batches that wait for
// their reply. What is posted while an earlier request to the same peer is under way, or while a thread
// sends, leaves together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "fabric/active_messages/entries.h"
#include "fabric/active_messages/gather.h"
#include "fabric/active_messages/transport.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "os/memory.h"

namespace musubi::fabric {

// Any thread, signal-safe, unless a function says otherwise.
class Outbox {
 public:
  // What may be on its way from this rank. More is refused as busy.
  struct Limits {
    std::size_t batches = 4096, batches_per_peer = 512;
    std::size_t messages = 1024, messages_per_peer = 128;  // that the transport has not taken yet
  };

  Outbox(Transport& transport, Limits limits, Hooks hooks);

  // Fabric::post and Fabric::send to a peer. Result: pending (done) or busy. A batch leaves now if it is the
  // only one under way to its peer, and otherwise at flush(); a message leaves now. What a full lane holds up
  // leaves at writable().
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  Outcome send(Rank peer, MessageKind kind, std::span<const std::byte> body) noexcept;

  // Sends what was put off. Result: whether there was anything.
  bool flush() noexcept;
  void writable(Rank peer) noexcept;
  // The peer is gone: what was and will be posted to it never completes.
  void drop(Rank peer) noexcept { targets_[peer.value].lost.store(true); }

  // The batch whose reply comes next; null: none is awaited. Stays until answered(). One thread at a time.
  const Entry* awaited(Rank peer) noexcept;
  // Its reply is complete: takes it from the list. Result: the completion, for the caller to set.
  Event* answered(Rank peer) noexcept;

 private:
  struct alignas(64) Target {
    SpinLock lock;
    EntryQueue waiting MUSUBI_GUARDED_BY(lock);     // to be sent
    EntryQueue unanswered MUSUBI_GUARDED_BY(lock);  // sent, or being sent
    std::size_t messages MUSUBI_GUARDED_BY(lock) = 0;
    std::atomic<std::size_t> under_way{0};  // batches
    std::atomic<bool> lost{false};

    // A lock that is only ever tried, for what follows: one thread sends, and looks again for the others.
    std::atomic<bool> sending{false};
    Gather gather;
    Entry* writing = nullptr;  // the batch of which some steps are in the gather, or were, and others not yet
    std::uint64_t sequence = 0;
    EntryQueue leaving;  // messages whose bodies the gather refers to

    // Full since the lane took bytes for the `openings`-th time: see is_full.
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
