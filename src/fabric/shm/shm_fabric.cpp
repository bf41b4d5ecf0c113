#include "fabric/shm/shm_fabric.h"

#include "base/check.h"
#include "fabric/shm/mailbox.h"
#include "fabric/waiting.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "os/futex.h"

namespace musubi::fabric {
namespace {

constexpr std::uint32_t checks_per_look = 16;
constexpr unsigned eager_checks = 1000;  // without a pause, if a thread may spin

}  // namespace

Outcome ShmFabric::post(Rank peer, std::span<const Step> steps, Event&) noexcept {
  MUSUBI_CHECK(peer.value < peers_.size(), "no rank %u", peer.value);
  if (steps.empty()) return Outcome::done;
  const std::uint64_t moved = perform({peer, peers_[peer.value].regions, procedures_}, self_, steps);
  if (peer != self_) {
    counters_.add(trace::Counter::remote_operations);
    counters_.add(trace::Counter::remote_bytes, moved);
  }
  return Outcome::done;
}

Outcome ShmFabric::send(Rank peer, MessageKind kind, Urgency urgency,
                        std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(peer.value < peers_.size(), "no rank %u", peer.value);
  MUSUBI_CHECK(kind < MessageKind::count);
  const Peer& to = peers_[peer.value];
  const Posting posting = mailbox_post(*to.mailbox, self_, kind, urgency, body);
  // A full mailbox is rung for, too: its owner may be computing, and only the service thread can empty it.
  ring(*to.mailbox, to.ropes, urgency == Urgency::promptly || posting != Posting::posted);
  if (posting == Posting::full) return Outcome::busy;
  if (peer != self_) counters_.add(trace::Counter::messages);
  return Outcome::done;
}

void ShmFabric::listen(MessageKind kind, Listener* listener) noexcept {
  MUSUBI_CHECK(kind < MessageKind::count);
  listeners_[static_cast<std::size_t>(kind)] = listener;
}

bool ShmFabric::progress() noexcept {
  std::uint64_t delivered = 0;
  while (reader_.arrived()) {
    if (delivering_.exchange(true, std::memory_order_acquire))
      break;  // the thread that delivers checks again below
    delivered += deliver();
    delivering_.store(false, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // see mailbox.h, "Deliver alone"
    if (delivered >= mailbox_slots) {                     // a steady stream must not keep this thread forever
      if (reader_.arrived()) ring(mailbox_, peers_[self_.value].ropes, true);
      break;
    }
  }
  return delivered != 0;
}

// Delivers the messages in the mailbox, at most one lap. REQUIRES: delivering_ is held.
std::uint32_t ShmFabric::deliver() noexcept {
  std::uint32_t delivered = 0;
  for (; delivered < mailbox_slots; ++delivered) {
    const MailboxSlot* message = reader_.head();
    if (message == nullptr) break;
    MUSUBI_CHECK(message->kind < MessageKind::count && message->bytes <= driver_message_bytes_max,
                 "a damaged message");
    Listener* listener = listeners_[static_cast<std::size_t>(message->kind)];
    MUSUBI_CHECK(listener != nullptr, "nobody listens to messages of kind %u",
                 static_cast<unsigned>(message->kind));
    listener->take(Rank{message->from}, std::span<const std::byte>{message->body, message->bytes});
    reader_.drop();
  }
  return delivered;
}

// Whether wait() should end. A message that another thread is delivering does not count: that thread checks
// again afterwards, and this one would only spin.
bool ShmFabric::called(const std::atomic<bool>& ready) const noexcept {
  return ready.load(std::memory_order_acquire) ||
         (reader_.arrived() && !delivering_.load(std::memory_order_relaxed));
}

// If threads sleep in another driver, they also poll it, but less often, because that takes a system call.
void ShmFabric::wait(const std::atomic<bool>& ready) noexcept {
  {
    WaitScope stay(mailbox_);
    const std::uint32_t bell = sleep_ == nullptr ? 0 : sleep_->bell_of(ready);
    const auto is_called = [&] { return called(ready) || stay.rung(); };
    const auto is_over = [&] { return is_called() || (sleep_ != nullptr && sleep_->progress()); };
    bool ended = is_called();
    {
      PollScope<JointSleep> looks(sleep_);
      const std::uint32_t spin_checks = spin_checks_.load(std::memory_order_relaxed);
      for (std::uint32_t i = 1; !ended && i <= spin_checks; ++i) {
        os::pause_instruction();
        const bool looks_around = i % checks_per_look == 0;
        ended = looks_around ? is_over() : is_called();
        if (looks_around && !ended) looks.begin();
      }
    }
    if (!ended && !is_over() && !yields_.yield_until(yields_max_.load(std::memory_order_relaxed), is_over)) {
      stay.announce_sleep();
      if (!called(ready)) fall_asleep(stay, ready, bell);
    }
  }
  progress();
}

// The wake-up of a joint sleep may have been meant for the whole rank.
void ShmFabric::fall_asleep(const WaitScope& stay, const std::atomic<bool>& ready,
                            std::uint32_t bell) noexcept {
  if (sleep_ == nullptr) return stay.sleep();
  sleep_->sleep(ready, bell);
  sleep_->progress();
}

void ShmFabric::wake() noexcept {
  ring_all_waiters(mailbox_);
  if (sleep_ != nullptr) sleep_->wake();
}

void ShmFabric::wait_for_service() noexcept {
  std::uint32_t bell = mailbox_.service_bell.load(std::memory_order_seq_cst);
  while (bell == service_bell_seen_) {
    mailbox_.service_asleep.store(1, std::memory_order_seq_cst);
    if (sleep_ != nullptr) {
      if (mailbox_.service_bell.load(std::memory_order_seq_cst) == bell) sleep_->wait_for_service();
      bell = mailbox_.service_bell.load(std::memory_order_seq_cst);
      break;
    }
    // The kernel compares again: a ring between our check and our sleep has changed the bell.
    os::futex_wait(mailbox_.service_bell, bell);
    bell = mailbox_.service_bell.load(std::memory_order_seq_cst);
  }
  mailbox_.service_asleep.store(0, std::memory_order_relaxed);
  service_bell_seen_ = bell;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see mailbox.h, "Ring late"
}

void ShmFabric::wake_service() noexcept {
  ring_service(mailbox_, peers_[self_.value].ropes);
}

// Messages that arrive within a microsecond are awaited without the clock, whose reading costs as much as a
// message.
bool ShmFabric::watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept {
  const auto differs = [&] { return word.load(std::memory_order_acquire) != unwanted; };
  const std::uint32_t spin_checks = spin_checks_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < spin_checks && i < eager_checks; ++i) {
    if (differs()) return true;
  }
  if (differs()) return true;
  const std::uint64_t begin = os::monotonic_ns();
  bool seen = false;
  for (std::uint32_t i = 0; !seen && i < spin_checks; ++i) {
    os::pause_instruction();
    seen = differs();
  }
  seen = seen || yields_.yield_until(yields_max_.load(std::memory_order_relaxed), differs);
  counters_.add(trace::Counter::waiting_ns, os::monotonic_ns() - begin);
  return seen;
}

std::byte* ShmFabric::direct(Rank peer, RegionId region) noexcept {
  MUSUBI_CHECK(peer.value < peers_.size() && region.value < region_count_max);
  return peers_[peer.value].regions[region.value].base;
}

}  // namespace musubi::fabric
