// Locks that stay with the rank that used them last, unreleased, until another rank wants them.
#include <utility>

#include "sync/lock_table_parts.h"

namespace musubi::sync {

using coherence::Scope;

void LockTable::let_stay(std::uint32_t uses, ReleaseRequests& requests) noexcept {
  Parts& p = *parts_;
  if (p.protocol.binds_to_locks()) return;  // what it releases depends on the lock
  p.requests = &requests;
  p.uses_before_stay = uses;
}

bool LockTable::lock_at_once(LockId lock) noexcept {
  Parts& p = *parts_;
  if (p.protocol.binds_to_locks()) return false;
  LocalLock& local = p.local(lock);
  std::optional<Gate::Pass> pass = local.gate.try_enter();
  if (!pass) return false;
  if (local.kept.load(std::memory_order_relaxed)) {
    if (!p.retake(local)) return false;
  } else if (!p.queue.try_lock_at_home(lock.value, p.initial_home(lock))) {
    return false;
  }
  p.note_taken(local, true, std::move(*pass));
  return true;
}

bool LockTable::keep(LockId lock) noexcept {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  if (p.uses_before_stay == 0 || local.uses_in_row < p.uses_before_stay) return false;
  local.kept.store(true);  // before anybody can claim it
  if (!local.listed) {
    local.listed = true;
    p.list(local);
  }
  if (!p.queue.keep(lock.value)) {
    local.kept.store(false);
    return false;
  }
  p.counters.add(trace::Counter::kept_locks);
  local.leave();
  return true;
}

bool LockTable::is_claimed(LockId lock) const noexcept {
  Parts& p = *parts_;
  return p.is_claimed(p.local(lock));
}

// The number of uses is looked at before `kept`: if it is the same at the end, no use has come between.
LockTable::Kept LockTable::kept() noexcept {
  std::atomic<LocalLock*>& locks = parts_->kept_locks;
  if (locks.load() == nullptr) return {};
  LocalLock* const first = locks.exchange(nullptr);
  for (LocalLock* local = first; local != nullptr; local = local->next) {
    local->uses_when_told = local->uses.load();
    if (!local->kept.load()) --local->uses_when_told;  // in use
  }
  return Kept{first};
}

// Under the gate.
LockTable::Settled LockTable::settle(LocalLock& local) noexcept {
  Parts& p = *parts_;
  const bool late = p.hooks.injected(InjectedBug::kept_lock_given_late);
  if (local.kept.load()) {
    if (local.uses.load() != local.uses_when_told && !late) return Settled::not_yet;
    if (!p.queue.free_kept(local.number)) {
      // A rank that tries it asks when it has claimed it.
      return p.queue.is_claimed(local.number) ? Settled::claimed : Settled::not_yet;
    }
    local.kept.store(false);
  }
  local.listed = false;
  return Settled::yes;
}

// Result: false when another rank wants it. It may have asked when the lock was on no list.
bool LockTable::list_again(LocalLock& local) noexcept {
  parts_->list(local);
  return !parts_->is_claimed(local);
}

bool LockTable::free(Kept kept) noexcept {
  bool all_served = true;
  while (kept.first_ != nullptr) {
    LocalLock& local = *std::exchange(kept.first_, kept.first_->next);
    const std::optional<Gate::Pass> pass = local.gate.try_enter();
    if (!pass || settle(local) != Settled::yes) all_served &= list_again(local);
  }
  return all_served;
}

Task<bool> LockTable::give(Kept kept) {
  Parts& p = *parts_;
  bool all_served = true;
  while (kept.first_ != nullptr) {
    LocalLock& local = *std::exchange(kept.first_, kept.first_->next);
    const std::optional<Gate::Pass> pass = co_await enter(local);
    const Settled settled = pass ? settle(local) : Settled::not_yet;
    if (settled == Settled::not_yet) all_served &= list_again(local);
    if (settled != Settled::claimed) continue;
    local.kept.store(false);
    local.listed = false;
    co_await p.queue.unlock(local.number, &p.gift);
  }
  co_return all_served;
}

// Result: nothing if the lock is in use here. Where another rank wants it, a thread that has passed the gate
// leaves at once, or gives it away.
Task<std::optional<Gate::Pass>> LockTable::enter(LocalLock& local) {
  for (unsigned attempt = 0;; ++attempt) {
    std::optional<Gate::Pass> pass = local.gate.try_enter();
    if (pass || !parts_->is_claimed(local)) co_return pass;
    co_await pause(attempt);
  }
}

Task<> LockTable::give_up(LockId lock) {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  const std::optional<Gate::Pass> pass = co_await enter(local);
  if (!pass || !p.is_claimed(local)) co_return;
  co_await p.protocol.release(Scope::of_lock(lock, p.fabric.self()), false);
  local.kept.store(false);
  co_await p.queue.unlock(lock.value, &p.gift);
}

}  // namespace musubi::sync
