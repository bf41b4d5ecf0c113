// Locks that stay with the rank that used them last, unreleased, until another rank wants them.
#include <utility>

#include "base/check.h"
#include "sync/lock_table_parts.h"

namespace musubi::sync {

using coherence::Scope;

void LockTable::let_stay(std::uint32_t uses, ReleaseRequests& requests) noexcept {
  Parts& p = *parts_;
  MUSUBI_CHECK(p.requests == nullptr);
  p.requests = &requests;
  p.uses_before_stay = uses;
}

bool LockTable::lock_at_once(LockId lock) noexcept {
  Parts& p = *parts_;
  if (p.protocol.binds_to_locks()) return false;  // it works at each lock
  LocalLock& local = p.local(lock);
  if (!local.hold.try_take()) return false;
  const bool is_here =
      local.kept.load() ? p.retake(local) : p.queue.try_lock_at_home(lock.value, p.initial_home(lock));
  if (is_here) {
    p.note_taken(local, true);
  } else {
    local.hold.give_back();
  }
  return is_here;
}

bool LockTable::keep(LockId lock) noexcept {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  if (p.uses_before_stay == 0 || local.uses_in_row < p.uses_before_stay) return false;
  if (p.protocol.binds_to_locks()) return false;  // the changes to release depend on the lock
  local.keeps.store(local.keeps.load(std::memory_order_relaxed) + 1);  // after all writes under the lock
  local.kept.store(true);                                              // before any rank can claim it
  if (!local.listed) {
    local.listed = true;
    p.list(local);
  }
  if (!p.queue.keep(lock.value)) {
    local.kept.store(false);
    return false;
  }
  p.counters.add(trace::Counter::kept_locks);
  local.hold.give_back();
  return true;
}

bool LockTable::is_claimed(LockId lock) const noexcept {
  Parts& p = *parts_;
  return p.is_claimed(p.local(lock));
}

// If the number of keeps is the same after a release, the release covers all writes under the lock.
LockTable::Kept LockTable::kept() noexcept {
  std::atomic<LocalLock*>& locks = parts_->kept_locks;
  if (locks.load() == nullptr) return {};
  LocalLock* const first = locks.exchange(nullptr);
  for (LocalLock* local = first; local != nullptr; local = local->next) {
    local->keeps_when_told = local->keeps.load();
  }
  return Kept{first};
}

// REQUIRES: the hold.
LockTable::Settled LockTable::settle(LocalLock& local) noexcept {
  MUSUBI_CHECK(local.listed);
  Parts& p = *parts_;
  MUSUBI_CHECK(local.listed);
  const bool late = p.hooks.injected(InjectedBug::kept_lock_given_late);
  if (local.kept.load()) {
    if (local.keeps.load() != local.keeps_when_told && !late) return Settled::not_yet;
    if (!p.queue.free_kept(local.number)) {
      // A rank that tries it sends a request once it has claimed it.
      return p.queue.is_claimed(local.number) ? Settled::claimed : Settled::not_yet;
    }
    local.kept.store(false);
  }
  local.listed = false;
  return Settled::yes;
}

// Result: false if another rank wants it. That rank may have asked while the lock was on no list.
bool LockTable::list_again(LocalLock& local) noexcept {
  MUSUBI_CHECK(local.listed);
  parts_->list(local);
  return !parts_->is_claimed(local);
}

void LockTable::put_back(Kept kept) noexcept {
  while (kept.first_ != nullptr) {
    parts_->list(*std::exchange(kept.first_, kept.first_->next));
  }
}

bool LockTable::free(Kept kept) noexcept {
  bool all_served = true;
  while (kept.first_ != nullptr) {
    LocalLock& local = *std::exchange(kept.first_, kept.first_->next);
    const bool holds = local.hold.try_take();
    if (!holds || settle(local) != Settled::yes) all_served &= list_again(local);
    if (holds) local.hold.give_back();
  }
  return all_served;
}

Task<bool> LockTable::give(Kept kept) {
  Parts& p = *parts_;
  bool all_served = true;
  while (kept.first_ != nullptr) {
    LocalLock& local = *std::exchange(kept.first_, kept.first_->next);
    const bool holds = co_await take_kept(local);
    const Settled settled = holds ? settle(local) : Settled::not_yet;
    if (settled == Settled::not_yet) all_served &= list_again(local);
    if (settled == Settled::claimed) {
      local.kept.store(false);
      local.listed = false;
      co_await p.queue.unlock(local.number, &p.payload);
    }
    if (holds) local.hold.give_back();
  }
  co_return all_served;
}

// Takes the hold. Result: false if the lock is in use here. If another rank wants it, a thread with the hold
// soon releases it, or gives the lock away.
Task<bool> LockTable::take_kept(LocalLock& local) {
  for (unsigned attempt = 0;; ++attempt) {
    if (local.hold.try_take()) co_return true;
    if (!parts_->is_claimed(local)) co_return false;
    co_await pause(attempt);
  }
}

Task<> LockTable::give_up(LockId lock) {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  const bool holds = co_await take_kept(local);
  if (!holds) co_return;
  if (p.is_claimed(local)) {
    co_await p.protocol.release(Scope::of_lock(lock, p.fabric.self()), false);
    local.kept.store(false);
    co_await p.queue.unlock(lock.value, &p.payload);
  }
  local.hold.give_back();
}

}  // namespace musubi::sync
