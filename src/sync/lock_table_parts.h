// The insides of LockTable: the locks as the tasks of one rank share them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "sync/local_hold.h"
#include "sync/lock_news.h"
#include "sync/lock_table.h"
#include "sync/signature_reader.h"

namespace musubi::sync {

struct LockTable::LocalLock {
  LocalHold hold;
  std::uint32_t number = 0;  // of the lock
  // The rest changes under the hold. By this rank:
  std::uint32_t uses_in_row = 0;
  // It was kept so often.
  std::atomic<std::uint32_t> keeps{0};
  // It was not released at its last unlock.
  std::atomic<bool> kept{false};
  // It is among those that kept() tells, or has told, and that are not settled yet.
  bool listed = false;
  LocalLock* next = nullptr;
  std::uint32_t keeps_when_told = 0;
};

struct LockTable::Parts {
  static constexpr std::size_t chunk_locks = 256;  // made when the first of them is used: most never are

  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  remote_lock::QueueLock queue;
  std::size_t count;
  SignatureReader signatures;
  ToldStamps told;
  NewsGift gift;
  std::unique_ptr<std::atomic<LocalLock*>[]> chunks;
  Hooks hooks;
  std::uint32_t uses_before_stay = 0;  // 0: no lock stays
  ReleaseRequests* requests = nullptr;
  std::atomic<LocalLock*> kept_locks{nullptr};  // a stack

  ~Parts() {
    for (std::size_t i = 0; i < (count + chunk_locks - 1) / chunk_locks; ++i) delete[] chunks[i].load();
  }
  LocalLock& local(LockId lock) {
    MUSUBI_CHECK(lock.value < count, "lock %u of %zu", lock.value, count);
    std::atomic<LocalLock*>& place = chunks[lock.value / chunk_locks];
    LocalLock* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr) chunk = make_chunk(place, lock.value / chunk_locks * chunk_locks);
    return chunk[lock.value % chunk_locks];
  }
  Rank initial_home(LockId lock) const { return Rank{lock.value % fabric.ranks()}; }
  bool is_claimed(const LocalLock& local) const {
    return local.kept.load() && queue.is_claimed(local.number);
  }
  // Whoever lists a lock says so to nobody: one that is claimed already must be asked for anew.
  void list(LocalLock& local) noexcept {
    local.next = kept_locks.load();
    while (!kept_locks.compare_exchange_weak(local.next, &local)) {
    }
  }
  // Under the hold, as the next one. Takes a lock that is kept, unless another rank wants it.
  bool retake(LocalLock& local) {
    if (!queue.retake(local.number)) return false;
    local.kept.store(false);
    return true;
  }
  // This rank has it. `stayed`: no other rank has had it since.
  void note_taken(LocalLock& local, bool stayed) noexcept {
    counters.add(trace::Counter::lock_acquisitions);
    local.uses_in_row = stayed ? local.uses_in_row + 1 : 1;
  }

 private:
  static LocalLock* make_chunk(std::atomic<LocalLock*>& place, std::size_t first) {
    auto* made = new LocalLock[chunk_locks];
    for (std::size_t i = 0; i < chunk_locks; ++i) made[i].number = static_cast<std::uint32_t>(first + i);
    LocalLock* chunk = nullptr;
    if (place.compare_exchange_strong(chunk, made)) return made;
    delete[] made;
    return chunk;
  }
};

}  // namespace musubi::sync
