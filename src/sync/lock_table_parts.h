// Internals of LockTable: the locks as the tasks of one rank share them.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "sync/local_hold.h"
#include "sync/lock_news.h"
#include "sync/lock_table.h"
#include "sync/signature_reader.h"

namespace musubi::sync {

struct LockTable::LocalLock {
  LocalHold hold;
  LocalLock* made_before = nullptr;
  std::uint32_t number = 0;  // of the lock
  // The rest changes under the hold. Consecutive uses by this rank:
  std::uint32_t uses_in_row = 0;
  // Number of times that it was kept.
  std::atomic<std::uint32_t> keeps{0};
  // The last unlock did not release.
  std::atomic<bool> kept{false};
  // It is among the locks that kept() returns, or has returned and that are not yet settled.
  bool listed = false;
  LocalLock* next = nullptr;
  std::uint32_t keeps_when_told = 0;
};

struct LockTable::Parts {
  static constexpr std::size_t lock_bytes = words_per_lock * sizeof(std::uint64_t);

  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  remote_lock::QueueLock queue;
  std::size_t count;
  std::uint64_t* words;
  SignatureReader signatures;
  ToldStamps told;
  NewsPayload payload;
  Hooks hooks;
  std::uint32_t uses_before_stay = 0;  // 0: no lock stays
  ReleaseRequests* requests = nullptr;
  std::atomic<LocalLock*> kept_locks{nullptr};  // a stack
  std::atomic<LocalLock*> made_last{nullptr};

  ~Parts() {
    for (LocalLock* made = made_last.load(); made != nullptr;) delete std::exchange(made, made->made_before);
  }
  // Made at this rank's first use of the lock.
  LocalLock& local(LockId lock) {
    MUSUBI_CHECK(lock.value < count, "lock %u of %zu", lock.value, count);
    const std::atomic_ref<std::uint64_t> address(words[words_per_lock * lock.value + 2]);
    const std::uint64_t known = address.load(std::memory_order_acquire);
    return known != 0 ? *reinterpret_cast<LocalLock*>(known) : make_local(address, lock.value);
  }
  Rank initial_home(LockId lock) const {
    MUSUBI_CHECK(lock.value < count);
    return Rank{lock.value % fabric.ranks()};
  }
  bool is_claimed(const LocalLock& local) const {
    MUSUBI_CHECK(local.number < count);
    return local.kept.load() && queue.is_claimed(local.number);
  }
  // Listing a lock notifies no rank: a claimed lock must be requested again.
  void list(LocalLock& local) noexcept {
    MUSUBI_CHECK(local.listed);
    local.next = kept_locks.load();
    while (!kept_locks.compare_exchange_weak(local.next, &local)) {
    }
  }
  // REQUIRES for this and the next: the hold. Takes a kept lock, unless another rank wants it.
  bool retake(LocalLock& local) {
    MUSUBI_CHECK(local.kept.load());
    if (!queue.retake(local.number)) return false;
    local.kept.store(false);
    return true;
  }
  // This rank has it. `stayed`: no other rank has had it since.
  void note_taken(LocalLock& local, bool stayed) noexcept {
    MUSUBI_CHECK(!local.kept.load());
    counters.add(trace::Counter::lock_acquisitions);
    local.uses_in_row = stayed ? local.uses_in_row + 1 : 1;
  }

 private:
  LocalLock& make_local(std::atomic_ref<std::uint64_t> address, std::uint32_t number) {
    auto* const made = new LocalLock;
    made->number = number;
    std::uint64_t other = 0;
    if (!address.compare_exchange_strong(other, reinterpret_cast<std::uintptr_t>(made))) {
      delete made;
      return *reinterpret_cast<LocalLock*>(other);
    }
    made->made_before = made_last.load();
    while (!made_last.compare_exchange_weak(made->made_before, made)) {
    }
    return *made;
  }
};

}  // namespace musubi::sync
