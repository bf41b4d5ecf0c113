#include "fabric/shm/mailbox.h"

#include <cstring>

#include "base/check.h"
#include "os/futex.h"
#include "os/sockets.h"

namespace musubi::fabric {
namespace {

// Not for every message: looking ahead reads another cache line.
constexpr std::uint64_t fill_check_interval = 32;
constexpr std::uint64_t fill_check_distance = 64;

// Whether fewer than a quarter of the slots after `ticket` are free.
bool nearly_full(const Mailbox& mailbox, std::uint64_t ticket) noexcept {
  if (ticket % fill_check_interval != 0) return false;
  const std::uint64_t ahead = ticket + fill_check_distance;
  const std::uint64_t turn = mailbox.slots[ahead % mailbox_slots].turn.load(std::memory_order_relaxed);
  return turn < ahead / mailbox_slots * 2;
}

}  // namespace

Posting mailbox_post(Mailbox& mailbox, Rank from, MessageKind kind, Urgency urgency,
                     std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(body.size() <= driver_message_bytes_max, "a message of %zu bytes", body.size());
  std::uint64_t ticket = mailbox.tickets.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t turn = mailbox.slots[ticket % mailbox_slots].turn.load(std::memory_order_acquire);
    const std::uint64_t free_turn = ticket / mailbox_slots * 2;
    if (turn < free_turn) return Posting::full;
    if (turn > free_turn) {  // another producer was faster
      ticket = mailbox.tickets.load(std::memory_order_relaxed);
    } else if (mailbox.tickets.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
      break;
    }
  }
  // Before publication, so that the consumer's decrement never comes first.
  if (urgency == Urgency::promptly) mailbox.prompt_messages.fetch_add(1, std::memory_order_relaxed);
  MailboxSlot& slot = mailbox.slots[ticket % mailbox_slots];
  slot.from = from.value;
  slot.bytes = static_cast<std::uint16_t>(body.size());
  slot.kind = kind;
  slot.urgency = urgency;
  if (!body.empty()) std::memcpy(slot.body, body.data(), body.size());
  slot.turn.store(ticket / mailbox_slots * 2 + 1, std::memory_order_release);
  return nearly_full(mailbox, ticket) ? Posting::posted_nearly_full : Posting::posted;
}

const MailboxSlot* MailboxReader::head() const noexcept {
  return arrived() ? &slot(head_.load(std::memory_order_relaxed)) : nullptr;
}

void MailboxReader::drop() noexcept {
  const std::uint64_t ticket = head_.load(std::memory_order_relaxed);
  MailboxSlot& taken = slot(ticket);
  if (taken.urgency == Urgency::promptly) mailbox_->prompt_messages.fetch_sub(1, std::memory_order_relaxed);
  taken.turn.store(full_turn(ticket) + 1, std::memory_order_release);
  head_.store(ticket + 1, std::memory_order_release);
}

void ring(Mailbox& mailbox, ExternalWakers ropes, bool urgent) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mailbox.asleep.load(std::memory_order_relaxed) != 0) {
    if (mailbox.polling.load(std::memory_order_relaxed) != 0) return;
    if (mailbox.rung.exchange(1, std::memory_order_acq_rel) != 0) return;
    mailbox.bell.fetch_add(1, std::memory_order_release);
    // One thread is enough, because it delivers everything.
    if (ropes.waiters >= 0) {
      os::WakeupPipe::ring_by(ropes.waiters);
    } else {
      os::futex_wake(mailbox.bell, 1);
    }
    return;
  }
  if (!urgent && mailbox.prompt_messages.load(std::memory_order_relaxed) == 0) return;
  if (mailbox.polling.load(std::memory_order_relaxed) == 0) ring_service(mailbox, ropes);
}

void ring_all_waiters(Mailbox& mailbox) noexcept {
  // Orders earlier actions of the caller (setting `ready`) before the read of `asleep`.
  mailbox.bell.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mailbox.asleep.load(std::memory_order_relaxed) != 0) os::futex_wake(mailbox.bell);
}

void ring_service(Mailbox& mailbox, ExternalWakers ropes) noexcept {
  mailbox.service_bell.fetch_add(1, std::memory_order_seq_cst);
  if (mailbox.service_asleep.load(std::memory_order_seq_cst) == 0) return;
  if (ropes.service >= 0) {
    os::WakeupPipe::ring_by(ropes.service);
  } else {
    os::futex_wake(mailbox.service_bell);
  }
}

WaitScope::WaitScope(Mailbox& mailbox) noexcept
    : mailbox_(mailbox), bell_(mailbox.bell.load(std::memory_order_acquire)) {
  mailbox_.polling.fetch_add(1, std::memory_order_seq_cst);
}

WaitScope::~WaitScope() {
  if (asleep_) {
    mailbox_.asleep.fetch_sub(1, std::memory_order_seq_cst);
    mailbox_.rung.store(0, std::memory_order_relaxed);
  } else {
    mailbox_.polling.fetch_sub(1, std::memory_order_seq_cst);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void WaitScope::announce_sleep() noexcept {
  asleep_ = true;
  mailbox_.asleep.fetch_add(1, std::memory_order_seq_cst);
  mailbox_.rung.store(0, std::memory_order_relaxed);
  mailbox_.polling.fetch_sub(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void WaitScope::sleep() const noexcept {
  os::futex_wait(mailbox_.bell, bell_);
}

}  // namespace musubi::fabric
