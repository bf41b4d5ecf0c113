#include "fabric/active_messages/outbox.h"

#include <bit>

#include "base/check.h"
#include "fabric/active_messages/wire.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t scratch_bytes = 8192;  // per lane: descriptions of some hundred steps
// Smaller payloads are copied after their description, which costs less than a piece of their own.
constexpr std::size_t referred_bytes_min = 256;
constexpr std::size_t room_min = wire::step_bytes_max + sizeof(wire::FrameHeader) + referred_bytes_min;
constexpr std::size_t peers_per_word = 64;

}  // namespace

Outbox::Outbox(Transport& transport, Limits limits, Hooks hooks)
    : transport_(transport),
      limits_(limits),
      hooks_(hooks),
      batches_(limits.batches, 0),
      messages_(limits.messages, driver_message_bytes_max),
      targets_(transport.ranks()),
      put_off_((transport.ranks() + peers_per_word - 1) / peers_per_word) {
  auto memory = os::Mapping::anywhere(scratch_bytes * targets_.size(), os::Protection::read_write);
  MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
  scratch_ = std::move(memory).value();
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    targets_[i].gather.use({scratch_.data() + i * scratch_bytes, scratch_bytes});
  }
}

Outcome Outbox::post(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  Target& target = targets_[peer.value];
  if (target.lost.load()) return Outcome::pending;
  if (target.under_way.load(std::memory_order_relaxed) >= limits_.batches_per_peer) return Outcome::busy;
  Entry* const entry = batches_.take();
  if (entry == nullptr) return Outcome::busy;
  entry->is_message = false;
  entry->steps = steps.data();
  entry->count = static_cast<std::uint32_t>(steps.size());
  entry->completion = &completion;
  entry->steps_written.store(0, std::memory_order_relaxed);
  const bool alone = target.under_way.fetch_add(1) == 0;
  entry->alone = alone;
  target.lock.lock();
  target.waiting.push(entry);
  target.lock.unlock();
  hooks_.others_may_act();
  if (alone) {
    flush(peer);
  } else {
    put_off(peer);
  }
  return Outcome::pending;
}

Outcome Outbox::send(Rank peer, MessageKind kind, std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(body.size() <= driver_message_bytes_max, "a message of %zu bytes", body.size());
  Target& target = targets_[peer.value];
  if (target.lost.load()) return Outcome::done;
  Entry* const entry = messages_.take();
  if (entry == nullptr) return Outcome::busy;
  entry->is_message = true;
  entry->kind = kind;
  entry->count = static_cast<std::uint32_t>(body.size());
  if (!body.empty()) std::memcpy(entry->body, body.data(), body.size());
  target.lock.lock();
  const bool fits = target.messages < limits_.messages_per_peer;
  if (fits) {
    ++target.messages;
    target.waiting.push(entry);
  }
  target.lock.unlock();
  if (!fits) messages_.give_back(entry);
  flush(peer);
  return fits ? Outcome::done : Outcome::busy;
}

void Outbox::put_off(Rank peer) noexcept {
  put_off_[peer.value / peers_per_word].fetch_or(std::uint64_t{1} << peer.value % peers_per_word);
}

bool Outbox::flush() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < put_off_.size(); ++i) {
    if (put_off_[i].load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t peers = put_off_[i].exchange(0); peers != 0; peers &= peers - 1) {
      flush(Rank{static_cast<std::uint32_t>(i * peers_per_word) +
                 static_cast<std::uint32_t>(std::countr_zero(peers))});
      any = true;
    }
  }
  return any;
}

void Outbox::writable(Rank peer) noexcept {
  targets_[peer.value].openings.fetch_add(1);
  flush(peer);
}

// A thread that finds another thread sending leaves its entries to it: the sender clears `sending`, then
// looks at `waiting`; the other thread pushes, then exchanges `sending`.
void Outbox::flush(Rank peer) noexcept {
  Target& target = targets_[peer.value];
  for (bool more = true; more && !target.is_full();) {
    if (target.sending.exchange(true)) return;
    hooks_.others_may_act();
    more = send_what_waits(peer, target);
    hooks_.others_may_act();
    target.sending.store(false);
    hooks_.others_may_act();
    target.lock.lock();
    more = more || target.waiting.first() != nullptr;
    target.lock.unlock();
  }
}

// Result: whether bytes are left in the gather because the lane is full. REQUIRES: `sending` is held.
bool Outbox::send_what_waits(Rank peer, Target& target) noexcept {
  for (;;) {
    if (target.gather.empty()) fill(target);
    if (target.gather.empty()) return false;
    const std::uint64_t openings = target.openings.load();
    std::size_t offered = 0;
    for (const Piece& piece : target.gather.pieces()) offered += piece.size();
    const std::size_t taken = transport_.send(peer, Lane::requests, target.gather.pieces());
    hooks_.others_may_act();
    target.gather.taken(taken);
    if (taken < offered) {
      target.full_since.store(openings);  // no effect if the lane has been opened in between
      return true;
    }
    release_messages(target);
  }
}

// Reads the clock once for all entries that leave together.
void Outbox::fill(Target& target) noexcept {
  std::uint64_t now_ns = 0;
  while (target.gather.has_room(room_min, 3)) {
    hooks_.others_may_act();
    if (target.writing != nullptr) {
      write_step(target);
      continue;
    }
    Entry* const entry = next(target);
    if (entry == nullptr) return;
    if (entry->is_message) {
      write_message(target, entry);
    } else {
      if (now_ns == 0) now_ns = os::monotonic_ns();
      entry->sent_ns = now_ns;
      begin_batch(target, entry);
    }
  }
}

// The next entry to be sent; from now on a batch awaits its reply.
Entry* Outbox::next(Target& target) noexcept {
  target.lock.lock();
  Entry* const entry = target.waiting.pop();
  if (entry != nullptr && !entry->is_message) {
    entry->sequence = target.sequence + 1;
    target.unanswered.push(entry);
  }
  target.lock.unlock();
  return entry;
}

void Outbox::write_message(Target& target, Entry* entry) noexcept {
  const wire::FrameHeader header{.kind = wire::FrameKind::message,
                                 .message = entry->kind,
                                 .count = entry->count,
                                 .sequence = ++target.sequence};
  target.gather.copy(&header, sizeof header);
  if (entry->count < referred_bytes_min) {
    if (entry->count != 0) target.gather.copy(entry->body, entry->count);
  } else {
    target.gather.refer_to(entry->body, entry->count);
  }
  target.leaving.push(entry);
}

void Outbox::release_messages(Target& target) noexcept {
  while (Entry* const entry = target.leaving.pop()) {
    target.lock.lock();
    --target.messages;
    target.lock.unlock();
    messages_.give_back(entry);
  }
}

void Outbox::begin_batch(Target& target, Entry* entry) noexcept {
  const wire::FrameHeader header{
      .kind = wire::FrameKind::batch, .message = {}, .count = entry->count, .sequence = ++target.sequence};
  target.gather.copy(&header, sizeof header);
  target.writing = entry;
}

// The step may leave, and its result may arrive, before the next step is written. After the last step the
// reply may arrive, which frees the entry.
void Outbox::write_step(Target& target) noexcept {
  Entry& entry = *target.writing;
  const std::uint32_t written = entry.steps_written.load(std::memory_order_relaxed);
  const Step& step = entry.steps[written];
  std::byte description[wire::step_bytes_max];
  target.gather.copy(description, wire::encode(step, description));
  const Piece payload = wire::payload_of(step);
  if (payload.size() >= referred_bytes_min) {
    target.gather.refer_to(payload.data(), payload.size());
  } else if (!payload.empty()) {
    target.gather.copy(payload.data(), payload.size());
  }
  if (written + 1 == entry.count) target.writing = nullptr;
  entry.steps_written.store(written + 1, std::memory_order_release);
}

const Entry* Outbox::awaited(Rank peer) noexcept {
  Target& target = targets_[peer.value];
  target.lock.lock();
  const Entry* const entry = target.unanswered.first();
  target.lock.unlock();
  return entry;
}

Event* Outbox::answered(Rank peer) noexcept {
  Target& target = targets_[peer.value];
  target.lock.lock();
  Entry* const entry = target.unanswered.pop();
  target.lock.unlock();
  Event* const completion = entry->completion;
  hooks_.others_may_act();
  target.under_way.fetch_sub(1);
  batches_.give_back(entry);
  return completion;
}

}  // namespace musubi::fabric
