#include "remote_lock/queue_lock.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "fabric/transfer.h"
#include "remote_lock/joining.h"

namespace musubi::remote_lock {

using fabric::Step;

namespace {

std::span<const Step> piggybacked_steps(Piggyback* piggyback, Rank holder) {
  if (piggyback == nullptr) return {};
  const std::span<const Step> steps = piggyback->steps_for(holder);
  MUSUBI_CHECK(steps.size() <= Piggyback::steps_max);
  return steps;
}

std::optional<Step> step_before(Piggyback* piggyback, Rank holder) {
  return piggyback == nullptr ? std::nullopt : piggyback->step_before(holder);
}

// The message that hands a lock over.
struct Grant {
  LockKey key;
  std::array<std::byte, GrantPayload::bytes_max> payload;
};
static_assert(sizeof(Grant) == fabric::message_bytes_max);

}  // namespace

Task<> Piggyback::ask(Rank keeper) {
  MUSUBI_CHECK(false, "rank %u keeps a lock, and nobody can ask for it", keeper.value);
  co_return;
}

void Grants::expect(Waiter& waiter) noexcept {
  lock_.lock();
  waiter.next = first_;
  first_ = &waiter;
  lock_.unlock();
}

void Grants::withdraw(Waiter& waiter) noexcept {
  lock_.lock();
  Waiter** link = &first_;
  while (*link != &waiter) {
    MUSUBI_CHECK(*link != nullptr, "a waiter that is not registered");
    link = &(*link)->next;
  }
  *link = waiter.next;
  lock_.unlock();
}

// Result: the link to the waiter, or the null link at the end.
Grants::Waiter** Grants::find(LockKey key) noexcept {
  Waiter** link = &first_;
  while (*link != nullptr && (*link)->key.value != key.value) link = &(*link)->next;
  return link;
}

const char* Grants::on_message(Rank, std::span<const std::byte> body) noexcept {
  if (body.size() == sizeof(Expiry)) return on_expiry(body);
  LockKey key;
  if (body.size() < sizeof key) return "its message of a lock is too short";
  std::memcpy(&key, body.data(), sizeof key);
  const std::span<const std::byte> payload = body.subspan(sizeof key);
  lock_.lock();
  Waiter** const link = find(key);
  Waiter* const waiter = *link;
  const bool is_wanted = waiter != nullptr && payload.size() <= waiter->payload_room.size();
  if (is_wanted) *link = waiter->next;
  lock_.unlock();
  if (!is_wanted) {
    return waiter == nullptr ? "it hands over a lock for which no rank waits"
                             : "it gives more with a lock than there is room for";
  }
  if (!payload.empty()) std::memcpy(waiter->payload_room.data(), payload.data(), payload.size());
  waiter->payload_bytes = payload.size();
  (waiter->expired ? waiter->granted_late : waiter->granted).set();
  return nullptr;
}

const char* Grants::on_expiry(std::span<const std::byte> body) noexcept {
  Expiry expiry;
  std::memcpy(&expiry, body.data(), sizeof expiry);
  lock_.lock();
  Waiter* const waiter = *find(expiry.key);
  const bool waits = waiter != nullptr && waiter->serial == expiry.serial && !waiter->expired;
  if (waits) waiter->expired = true;
  lock_.unlock();
  if (waits) waiter->granted.set();
  return nullptr;
}

Task<> Grants::expire(fabric::Fabric& fabric, Expiry expiry) {
  co_await fabric::deliver(fabric, fabric.self(), fabric::MessageKind::lock_granted,
                           fabric::Urgency::when_polled, std::as_bytes(std::span{&expiry, 1}));
}

QueueLock::QueueLock(fabric::Fabric& fabric, Grants& grants, WordArray words, KeyOf key_of, Hooks hooks)
    : fabric_(fabric), grants_(grants), words_(words), key_of_(key_of), hooks_(hooks) {
  fabric_.offer(join_procedure, {&join_at_initial_home, &hooks_});
}

bool QueueLock::try_lock_at_home(std::uint64_t index, Rank initial_home) {
  std::uint64_t seen = own(index).load();
  if (OwnerWord{seen}.resolved(fabric_.self(), initial_home) != OwnerWord::unlocked()) return false;
  return own(index).compare_exchange_strong(seen, OwnerWord::locked().raw);
}

Task<bool> QueueLock::lock_if_home(std::uint64_t index, Rank initial_home) {
  for (unsigned attempt = 0;; ++attempt) {
    if (try_lock_at_home(index, initial_home)) co_return true;
    const OwnerWord found = OwnerWord{own(index).load()}.resolved(fabric_.self(), initial_home);
    if (found == OwnerWord::unlocked()) continue;  // the visitor has just left
    if (!found.is_tried()) co_return false;
    co_await pause(attempt);
  }
}

Task<Acquisition> QueueLock::lock(std::uint64_t index, Rank initial_home, Piggyback* piggyback) {
  const Rank self = fabric_.self();
  OwnerWord before;
  for (unsigned attempt = 0;; ++attempt) {
    if (try_lock_at_home(index, initial_home)) co_return Acquisition{self, false};
    before = OwnerWord{own(index).load()}.resolved(self, initial_home);
    if (!before.is_tried() && before != OwnerWord::unlocked()) break;
    co_await pause(attempt);  // the trying rank ends its attempt soon
  }
  // Not home, and no other rank changes a link. From here on another rank may come next in the queue.
  MUSUBI_CHECK(before.tag() == Ownership::link, "lock %lu taken twice by one rank",
               static_cast<unsigned long>(index));
  own(index).store(OwnerWord::locked().raw);
  Grants::Waiter waiter;
  waiter.key = key(index);
  if (piggyback != nullptr) waiter.payload_room = piggyback->payload_room();
  grants_.expect(waiter);
  const Joined joined = co_await join_queue(index, initial_home, piggyback);
  MUSUBI_CHECK(joined.previous != self, "rank comes after itself in the queue of lock %lu",
               static_cast<unsigned long>(index));
  bool is_taken = joined.verdict == joining::taken;
  if (joined.verdict == joining::kept) co_await piggyback->ask(joined.previous);
  if (joined.verdict == joining::behind_other || joined.verdict == joining::tried) {
    is_taken = co_await follow(index, joined.previous, initial_home, piggyback);
  }
  if (is_taken) {
    grants_.withdraw(waiter);
  } else {
    co_await waiter.granted;
  }
  co_return Acquisition{joined.previous, is_taken, waiter.payload_bytes};
}

// At the initial home, exchanges the tail and, if the predecessor is that home itself, also its owner word.
Task<QueueLock::Joined> QueueLock::join_queue(std::uint64_t index, Rank initial_home, Piggyback* piggyback) {
  if (initial_home == fabric_.self()) {
    const TailWord before{own(index, words_.tail).exchange(TailWord::of(initial_home).raw)};
    co_return Joined{before.rank(initial_home), joining::behind_other};
  }
  const JoinRequest request{offset(index), offset(index) + words_.tail, words_.region.value, {}};
  fabric::Answer<TailWord> before{};
  std::array<Step, 2 + Piggyback::steps_max> steps;
  std::size_t count = 0;
  if (const std::optional<Step> first = step_before(piggyback, initial_home)) steps[count++] = *first;
  steps[count++] = fabric::call(join_procedure, request, before);
  for (const Step& step : piggybacked_steps(piggyback, initial_home))
    steps[count++] = fabric::if_verdict(joining::taken, step);
  co_await fabric::transfer(fabric_, initial_home, std::span<const Step>(steps.data(), count));
  co_return Joined{before.result.rank(initial_home), before.end.verdict};
}

// Takes the lock from `previous`, or waits until `previous` hands it over. One batch serves both cases. After
// the first swap that succeeds, the word of `previous` is a link. If the word is locked because `previous`
// wants the lock again, it is neither kept nor unlocked until this rank has unlocked. Hence the order of the
// swaps. Result: whether the lock was free; in that case `piggyback` has been done.
Task<bool> QueueLock::follow(std::uint64_t index, Rank previous, Rank initial_home, Piggyback* piggyback) {
  const OwnerWord link = OwnerWord::link_to(fabric_.self());
  OwnerWord locked, kept, unlocked;
  OwnerWord untouched = OwnerWord::unlocked();  // stays so unless `previous` is the initial home
  std::array<Step, 5 + Piggyback::steps_max> steps;
  std::size_t count = 0;
  if (const std::optional<Step> first = step_before(piggyback, previous)) steps[count++] = *first;
  const auto add_swap = [&](OwnerWord* seen, OwnerWord expected) {
    steps[count++] = fabric::compare_swap(words_.region, offset(index), &seen->raw, expected.raw, link.raw);
  };
  const bool kept_first = hooks_.injected(InjectedBug::kept_swapped_first);
  if (kept_first) add_swap(&kept, OwnerWord::kept());
  add_swap(&locked, OwnerWord::locked());
  if (!kept_first) add_swap(&kept, OwnerWord::kept());
  if (previous == initial_home) add_swap(&untouched, OwnerWord::untouched());
  add_swap(&unlocked, OwnerWord::unlocked());
  for (const Step& step : piggybacked_steps(piggyback, previous)) steps[count++] = step;
  for (unsigned attempt = 0;; ++attempt) {
    if (attempt != 0) co_await pause(attempt);  // a rank tries the lock
    co_await fabric::transfer(fabric_, previous, std::span<const Step>(steps.data(), count));
    if (kept == OwnerWord::kept()) co_await piggyback->ask(previous);
    if (locked == OwnerWord::locked() || kept == OwnerWord::kept()) co_return false;
    if (untouched == OwnerWord::untouched() || unlocked == OwnerWord::unlocked()) co_return true;
  }
}

bool QueueLock::keep(std::uint64_t index) {
  std::uint64_t expected = OwnerWord::locked().raw;
  const bool is_kept = own(index).compare_exchange_strong(expected, OwnerWord::kept().raw);
  hooks_.others_may_act();
  return is_kept;
}

bool QueueLock::retake(std::uint64_t index) {
  std::uint64_t expected = OwnerWord::kept().raw;
  return own(index).compare_exchange_strong(expected, OwnerWord::locked().raw);
}

bool QueueLock::free_kept(std::uint64_t index) {
  std::uint64_t expected = OwnerWord::kept().raw;
  return own(index).compare_exchange_strong(expected, OwnerWord::unlocked().raw);
}

bool QueueLock::is_claimed(std::uint64_t index) const {
  return OwnerWord{own(index).load()}.tag() == Ownership::link;
}

bool QueueLock::unlock_unwatched(std::uint64_t index) {
  std::uint64_t expected = OwnerWord::locked().raw;
  const bool is_free = own(index).compare_exchange_strong(expected, OwnerWord::unlocked().raw);
  hooks_.others_may_act();  // a visitor may have the lock at once
  return is_free;
}

Task<> QueueLock::unlock(std::uint64_t index, GrantPayload* payload) {
  if (unlock_unwatched(index)) co_return;
  const OwnerWord next{own(index).load()};
  MUSUBI_CHECK(next.tag() == Ownership::link, "lock %lu unlocked while not locked",
               static_cast<unsigned long>(index));
  if (hooks_.injected(InjectedBug::handover_skipped)) co_return;
  if (payload != nullptr) co_return co_await hand_over(index, next.target(), *payload);
  const LockKey granted = key(index);
  co_await fabric::deliver(fabric_, next.target(), fabric::MessageKind::lock_granted,
                           fabric::Urgency::when_polled, std::as_bytes(std::span{&granted, 1}));
}

// Separate from unlock(), whose frame stays small for locks without payloads.
Task<> QueueLock::hand_over(std::uint64_t index, Rank next, GrantPayload& payload) {
  Grant grant;
  grant.key = key(index);
  const std::size_t bytes = payload.give(next, grant.payload);
  MUSUBI_CHECK(bytes == 0 || bytes > sizeof(LockKey), "a payload that looks like an expiry");
  co_await fabric::deliver(fabric_, next, fabric::MessageKind::lock_granted, fabric::Urgency::when_polled,
                           std::as_bytes(std::span{&grant, 1}).first(sizeof grant.key + bytes));
}

}  // namespace musubi::remote_lock
