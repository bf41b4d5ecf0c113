// The mailbox of one rank: a bounded ring in shared memory, many producers, one consumer at a time (after D.
// Vyukov's bounded queue). Zero memory is an empty mailbox, so a sparse file needs no preparation.
//
// Ticket t uses slot t mod 256 in lap t / 256. The slot's `turn` is 2*lap if the producer of that lap may
// fill it, 2*lap + 1 if it is full, 2*lap + 2 if it is free for the next lap. A producer that dies between
// ticket and publication leaves a hole: the consumer sees an empty mailbox and sleeps, and producers finally
// see a full one. No thread spins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "fabric/fabric.h"

namespace musubi::fabric {

inline constexpr std::uint64_t mailbox_slots = 256;

struct MailboxSlot {
  std::atomic<std::uint64_t> turn;
  std::uint32_t from;
  std::uint16_t bytes;
  MessageKind kind;
  Urgency urgency;
  // Follows the header, so that a short message takes one cache line.
  std::byte body[driver_message_bytes_max];
  std::byte unused[32];
};
static_assert(sizeof(MailboxSlot) == 2048);

// Each group has its own cache lines (two: processors fetch lines in pairs).
struct Mailbox {
  // Written by senders only.
  alignas(128) std::atomic<std::uint64_t> tickets;
  // Written only when a thread of the owner really sleeps; senders mostly have it in their cache.
  alignas(128) std::atomic<std::uint32_t> asleep;  // threads in wait() that sleep or are about to
  std::atomic<std::uint32_t> rung;                 // a sleeper has been rung and has not run yet
  std::atomic<std::uint32_t> bell;                 // futex word of wait()
  // Written by every wait(): separate from `asleep`, so that sending does not disturb a spinning receiver.
  alignas(128) std::atomic<std::uint32_t> polling;  // threads in wait() that poll
  // For the service thread.
  alignas(128) std::atomic<std::uint32_t> service_bell;  // futex word of wait_for_service()
  std::atomic<std::uint32_t> service_asleep;
  std::atomic<std::uint32_t> prompt_messages;  // undelivered `promptly` messages
  alignas(128) MailboxSlot slots[mailbox_slots];
};

enum class Posting : std::uint8_t { full, posted, posted_nearly_full };

// Any thread of any process. The caller rings the bells afterwards (mailbox.h).
Posting mailbox_post(Mailbox& mailbox, Rank from, MessageKind kind, Urgency urgency,
                     std::span<const std::byte> body) noexcept;

// The consumer's position in its own mailbox; private to the owner.
class MailboxReader {
 public:
  explicit MailboxReader(Mailbox& mailbox) noexcept : mailbox_(&mailbox) {}

  // Whether there is a message at the head. Any thread; may miss one while another thread takes messages.
  bool arrived() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    return slot(head).turn.load(std::memory_order_acquire) == full_turn(head);
  }

  // The head message in place; null if there is none. One thread at a time, as for drop().
  const MailboxSlot* head() const noexcept;
  // Returns the head's slot to the producers. REQUIRES: head() != nullptr.
  void drop() noexcept;

 private:
  static std::uint64_t full_turn(std::uint64_t ticket) noexcept { return ticket / mailbox_slots * 2 + 1; }
  MailboxSlot& slot(std::uint64_t ticket) const noexcept { return mailbox_->slots[ticket % mailbox_slots]; }

  Mailbox* mailbox_;
  std::atomic<std::uint64_t> head_{0};
};

// Wakes threads for messages. No wake-up is lost, for these reasons.
//
// A sender publishes a message, then checks the receiver (ring). A receiver announces itself, then checks the
// mailbox. Each has a sequentially consistent fence (FENCE) between its two steps. For any sender S and
// receiver R these fences are ordered, so at least one of them sees the other's first step (Dekker):
//
// - Sleep. R is about to sleep: asleep+1, polling-1, FENCE, check the mailbox, then futex_wait on the value
//   of the bell read before all this. If R's check missed the message, S's fence came after R's, so S sees
//   asleep > 0 and rings unless some thread polls: the bell changes before the futex_wake, so R either does
//   not fall asleep or is woken.
//
// - Leave. R leaves wait() for any reason: polling-1 (or asleep-1, rung=0), FENCE, deliver the mailbox. If S
//   found R polling and did not ring, S's fence came before R's, so R delivers the message.
//
// - Save calls. A sender that finds `rung` set relies on the sender that set it. Every sleeper clears it
//   before its FENCE and check, so the sleeper's check sees a message whose sender found it set.
//
// - Deliver alone. A thread that finds another thread delivering relies on it: the deliverer unlocks, FENCE,
//   checks again (ShmFabric::progress).
//
// - Ring late. A slow producer hides later messages in slots after its own. When it publishes, it rings for
//   them, too: sleepers are rung for any message, and `prompt_messages` shows whether one is for the service
//   thread.
//
// - Serve. The service thread sleeps on the value of the bell at which it last returned, so a ring before the
//   sleep is not lost. Only this thread clears `service_asleep`: a ringer may check again only after the
//   thread has seen its ring, worked, and announced its next sleep.
//
// - External wakers. An owner whose threads sleep in another driver (waiting.h) is woken by a rope instead of
//   the futex. A pull before the sleep ends it, as the futex's comparison would.

// How to wake the owner of a mailbox if not by its futexes.
struct ExternalWakers {
  int waiters = -1, service = -1;  // -1: by futex
};

// After mailbox_post: wakes the threads that this message is for. `urgent`: wakes the service thread if no
// thread waits. Any thread of any process; makes a system call only if a thread sleeps.
void ring(Mailbox& mailbox, ExternalWakers ropes, bool urgent) noexcept;

// Wakes every thread in wait(), except those that sleep in another driver. Signal-safe.
void ring_all_waiters(Mailbox& mailbox) noexcept;
// Wakes the service thread. Signal-safe.
void ring_service(Mailbox& mailbox, ExternalWakers ropes) noexcept;

// The scope of wait(): the thread counts as polling until it sleeps.
class WaitScope {
 public:
  explicit WaitScope(Mailbox& mailbox) noexcept;
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;
  ~WaitScope();  // ends with FENCE; the caller then checks the mailbox

  // Whether the bell has rung since construction.
  bool rung() const noexcept { return mailbox_.bell.load(std::memory_order_acquire) != bell_; }

  // From now on the thread counts as asleep. Ends with FENCE; the caller checks once more, then sleeps.
  void announce_sleep() noexcept;
  // Blocks until the bell rings. REQUIRES: announce_sleep() was called.
  void sleep() const noexcept;

 private:
  Mailbox& mailbox_;
  const std::uint32_t bell_;
  bool asleep_ = false;
};

}  // namespace musubi::fabric
