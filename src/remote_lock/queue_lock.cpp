#include "remote_lock/queue_lock.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::remote_lock {

using fabric::Step;

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

void Grants::on_message(Rank from, std::span<const std::byte> body) noexcept {
  LockKey key;
  MUSUBI_CHECK(body.size() == sizeof key);
  std::memcpy(&key, body.data(), sizeof key);
  lock_.lock();
  Waiter** link = &first_;
  while (*link != nullptr && (*link)->key.value != key.value) link = &(*link)->next;
  Waiter* waiter = *link;
  MUSUBI_CHECK(waiter != nullptr, "rank %u handed over lock %lx, for which nobody waits", from.value,
               static_cast<unsigned long>(key.value));
  *link = waiter->next;
  lock_.unlock();
  waiter->granted.set();
}

bool QueueLock::try_lock_at_home(std::uint64_t index, Rank initial_home) {
  std::uint64_t seen = own(index).load();
  if (OwnerWord{seen}.resolved(fabric_.self(), initial_home) != OwnerWord::unlocked()) return false;
  return own(index).compare_exchange_strong(seen, OwnerWord::locked().raw);
}

Task<Rank> QueueLock::lock(std::uint64_t index, Rank initial_home) {
  const Rank self = fabric_.self();
  if (try_lock_at_home(index, initial_home)) co_return self;
  // Not home, and nobody else changes a link: from here on others may queue up behind this rank.
  const OwnerWord before = OwnerWord{own(index).load()}.resolved(self, initial_home);
  MUSUBI_CHECK(before.tag() == Ownership::link, "lock %lu taken twice by one rank",
               static_cast<unsigned long>(index));
  own(index).store(OwnerWord::locked().raw);

  Grants::Waiter waiter{key(index), {}, nullptr};
  bool expecting = false;
  Rank peer = before.target();
  OwnerWord expected = OwnerWord::unlocked();
  for (;;) {
    MUSUBI_CHECK(peer != self, "the links of lock %lu form a cycle", static_cast<unsigned long>(index));
    if (expected == OwnerWord::locked() && !expecting) {
      grants_.expect(waiter);
      expecting = true;
    }
    std::uint64_t raw = 0;
    std::array<Step, 1> step{
        fabric::compare_swap(words_.region, offset(index), &raw, expected.raw, OwnerWord::link_to(self).raw)};
    co_await fabric::transfer(fabric_, peer, step);
    if (raw == expected.raw) break;
    const OwnerWord found = OwnerWord{raw}.resolved(peer, initial_home);
    if (found.tag() == Ownership::link) {
      peer = found.target();
      expected = OwnerWord::unlocked();
    } else {
      expected = OwnerWord{raw};  // unlocked, locked, or the untouched word of the initial home
    }
  }
  if (expected == OwnerWord::locked()) {
    co_await waiter.granted;
  } else if (expecting) {
    grants_.withdraw(waiter);
  }
  co_return peer;
}

Task<bool> QueueLock::looks_free(std::uint64_t index, Rank initial_home) {
  const Rank self = fabric_.self();
  OwnerWord word = OwnerWord{own(index).load()}.resolved(self, initial_home);
  while (word.tag() == Ownership::link) {
    const Rank peer = word.target();
    std::uint64_t raw = 0;
    std::array<Step, 1> step{fabric::get(words_.region, offset(index), &raw, sizeof raw)};
    co_await fabric::transfer(fabric_, peer, step);
    word = OwnerWord{raw}.resolved(peer, initial_home);
  }
  co_return word.tag() == Ownership::unlocked;
}

bool QueueLock::unlock_unwatched(std::uint64_t index) {
  std::uint64_t expected = OwnerWord::locked().raw;
  return own(index).compare_exchange_strong(expected, OwnerWord::unlocked().raw);
}

Task<> QueueLock::unlock(std::uint64_t index) {
  if (unlock_unwatched(index)) co_return;
  const OwnerWord next{own(index).load()};
  MUSUBI_CHECK(next.tag() == Ownership::link, "lock %lu unlocked while not locked",
               static_cast<unsigned long>(index));
  if (skip_handover_) co_return;
  const LockKey granted = key(index);
  co_await fabric::deliver(fabric_, next.target(), fabric::MessageKind::lock_granted,
                           fabric::Urgency::when_polled, std::as_bytes(std::span{&granted, 1}));
}

}  // namespace musubi::remote_lock
