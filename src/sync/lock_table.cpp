#include "sync/lock_table.h"

#include <array>
#include <atomic>
#include <optional>

#include "base/event.h"
#include "coherence/regions.h"
#include "sync/lock_news.h"
#include "sync/signature_reader.h"

namespace musubi::sync {
namespace {

using coherence::Scope;

// One lock as the tasks of this rank share it.
struct LocalLock {
  Gate gate;
  std::optional<Gate::Pass> pass;  // of the task that holds the lock
};
constexpr std::size_t chunk_locks = 256;  // made when the first of them is used: most never are
constexpr std::size_t lock_bytes = 2 * sizeof(std::uint64_t);  // owner and tail

}  // namespace

struct LockTable::Parts {
  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  remote_lock::QueueLock queue;
  std::size_t count;
  SignatureReader signatures;
  ToldStamps told;
  NewsGift gift;
  std::unique_ptr<std::atomic<LocalLock*>[]> chunks;

  ~Parts() {
    for (std::size_t i = 0; i < (count + chunk_locks - 1) / chunk_locks; ++i) delete[] chunks[i].load();
  }
  LocalLock& local(LockId lock) {
    MUSUBI_CHECK(lock.value < count, "lock %u of %zu", lock.value, count);
    std::atomic<LocalLock*>& place = chunks[lock.value / chunk_locks];
    LocalLock* chunk = place.load();
    if (chunk == nullptr) {
      auto* made = new LocalLock[chunk_locks];
      if (place.compare_exchange_strong(chunk, made)) {
        chunk = made;
      } else {
        delete[] made;
      }
    }
    return chunk[lock.value % chunk_locks];
  }
  Rank initial_home(LockId lock) const { return Rank{lock.value % fabric.ranks()}; }
};

LockTable::LockTable(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                     remote_lock::Grants& grants, std::byte* words, std::uint64_t words_offset,
                     std::size_t count, std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks)
    : parts_(
          new Parts{fabric, protocol, counters,
                    remote_lock::QueueLock(
                        fabric, grants,
                        {coherence::control_region, words_offset, lock_bytes, sizeof(std::uint64_t), words},
                        remote_lock::LockKey::of_user_lock, hooks),
                    count, SignatureReader(fabric, protocol, signature_offset, notices_max, hooks),
                    ToldStamps(words_offset + count * lock_bytes),
                    NewsGift({words - words_offset, words_offset + words_bytes(count, fabric.ranks())},
                             {signature_offset, notices_max, hooks},
                             ToldStamps(words_offset + count * lock_bytes), fabric.self(), fabric.ranks()),
                    std::make_unique<std::atomic<LocalLock*>[]>((count + chunk_locks - 1) / chunk_locks)}) {}
LockTable::~LockTable() = default;

// The signature of the last holder comes with the lock. It covers at least what this holder released before
// it gave the lock away; newer notices may come along, which costs at most a needless invalidation. Result:
// whether another rank had it before.
Task<bool> LockTable::lock_from_elsewhere(LockId lock) {
  Parts& p = *parts_;
  SignatureReader::Look look(p.signatures);
  NewsAlong along(look, p.told, p.fabric.self());
  const remote_lock::Taken taken = co_await p.queue.lock(lock.value, p.initial_home(lock), &along);
  if (taken.previous == p.fabric.self()) co_return false;
  p.counters.add(trace::Counter::lock_handovers);
  const bool has_gift = taken.gift_bytes != 0;
  if (has_gift) look.take_answer();
  co_await p.signatures.acquire(look, Scope::of_lock(lock, taken.previous), taken.was_along || has_gift);
  co_return true;
}

Task<> LockTable::lock(LockId lock) {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  auto pass = co_await local.gate.enter();
  bool is_handed_over = false;
  if (!p.queue.try_lock_at_home(lock.value, p.initial_home(lock))) {
    is_handed_over = co_await lock_from_elsewhere(lock);
  }
  if (!is_handed_over && p.protocol.binds_to_locks()) co_await p.protocol.retake(lock);
  p.counters.add(trace::Counter::lock_acquisitions);
  local.pass.emplace(std::move(pass));
}

Task<bool> LockTable::try_lock(LockId lock) {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  std::optional<Gate::Pass> pass = local.gate.try_enter();
  if (!pass) co_return false;
  const std::optional<remote_lock::Taken> taken = co_await p.queue.try_lock(lock.value, p.initial_home(lock));
  if (!taken) co_return false;
  if (taken->previous != p.fabric.self()) {
    p.counters.add(trace::Counter::lock_handovers);
    SignatureReader::Look look(p.signatures);
    co_await p.signatures.acquire(look, Scope::of_lock(lock, taken->previous), false);
  } else if (p.protocol.binds_to_locks()) {
    co_await p.protocol.retake(lock);
  }
  p.counters.add(trace::Counter::lock_acquisitions);
  local.pass.emplace(std::move(*pass));
  co_return true;
}

Task<> LockTable::unlock(LockId lock) {
  Parts& p = *parts_;
  co_await p.protocol.release(Scope::of_lock(lock, p.fabric.self()), false);
  co_await p.queue.unlock(lock.value, &p.gift);
  LocalLock& local = p.local(lock);
  // Out of its place before it is given up: the next holder puts his own pass there.
  auto pass = std::move(*local.pass);
  local.pass.reset();
}

}  // namespace musubi::sync
