// The mailbox of one rank: a bounded ring in shared memory, many producers, one consumer at a time (after D.
// Vyukov's bounded queue). Zero memory is an empty mailbox, so that a sparse file needs no preparation.
//
// Ticket t uses slot t mod 256 in lap t / 256. The slot's `turn` says whose turn it is: 2*lap = free for the
// producer of that lap, 2*lap + 1 = full, 2*lap + 2 = free for the next lap. A producer that dies between
// ticket and publication leaves a hole: the consumer sees an empty mailbox and goes to sleep, others see a
// full one in the end. Nobody spins.
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
  std::byte
      body[driver_message_bytes_max];  // right behind the header: a short message travels in one cache line
  std::byte unused[32];
};
static_assert(sizeof(MailboxSlot) == 2048);

// Each group has cache lines of its own (two: processors fetch lines in pairs).
struct Mailbox {
  // Written by senders only.
  alignas(128) std::atomic<std::uint64_t> tickets;
  // Written when a thread of the owner really sleeps; senders mostly find it in their own cache.
  alignas(128) std::atomic<std::uint32_t> asleep;  // threads in wait() that sleep, or are about to
  std::atomic<std::uint32_t> rung;                 // a sleeper has been rung and did not run yet
  std::atomic<std::uint32_t> bell;                 // futex word of wait()
  // Written by every wait(): apart from `asleep`, so that sending costs a spinning receiver nothing.
  alignas(128) std::atomic<std::uint32_t> polling;  // threads in wait() that look by themselves
  // For the service thread.
  alignas(128) std::atomic<std::uint32_t> service_bell;  // futex word of wait_for_service()
  std::atomic<std::uint32_t> service_asleep;
  std::atomic<std::uint32_t> prompt_messages;  // `promptly` messages that are not delivered yet
  alignas(128) MailboxSlot slots[mailbox_slots];
};

enum class Posting : std::uint8_t { full, posted, posted_nearly_full };

// Any thread of any process. The caller rings the bells afterwards (doorbell.h).
Posting mailbox_post(Mailbox& mailbox, Rank from, MessageKind kind, Urgency urgency,
                     std::span<const std::byte> body) noexcept;

// The consumer's place in its own mailbox; private to the owner.
class MailboxReader {
 public:
  explicit MailboxReader(Mailbox& mailbox) noexcept : mailbox_(&mailbox) {}

  // Whether a message lies at the head. Any thread; may miss one while another thread is taking messages.
  bool arrived() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    return slot(head).turn.load(std::memory_order_acquire) == full_turn(head);
  }

  // The head message, in place, or null. One thread at a time, as for drop().
  const MailboxSlot* head() const noexcept;
  // Gives the head's slot back to the producers. REQUIRES: head() != nullptr.
  void drop() noexcept;

 private:
  static std::uint64_t full_turn(std::uint64_t ticket) noexcept { return ticket / mailbox_slots * 2 + 1; }
  MailboxSlot& slot(std::uint64_t ticket) const noexcept { return mailbox_->slots[ticket % mailbox_slots]; }

  Mailbox* mailbox_;
  std::atomic<std::uint64_t> head_{0};
};

}  // namespace musubi::fabric
