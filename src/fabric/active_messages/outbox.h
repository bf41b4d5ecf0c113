// Request lanes, sending side: entries to be sent to each peer, and batches that await their reply. Entries
// posted while an earlier request to the same peer is under way, or while a thread sends, leave together.
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
