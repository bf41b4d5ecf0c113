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

// Any thread of any process. The caller rings the bells afterwards (doorbell.h).
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

}  // namespace musubi::fabric
