#include "sync/lock_table.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "coherence/regions.h"
#include "fabric/waiting.h"
#include "sync/lock_table_parts.h"

namespace musubi::sync {

using coherence::Scope;

LockTable::LockTable(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                     remote_lock::Grants& grants, std::byte* words, std::uint64_t words_offset,
                     std::size_t count, std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks)
    : parts_(new Parts{
          fabric, protocol, counters,
          remote_lock::QueueLock(
              fabric, grants,
              {coherence::control_region, words_offset, Parts::lock_bytes, sizeof(std::uint64_t), words},
              remote_lock::LockKey::of_user_lock, hooks),
          count, reinterpret_cast<std::uint64_t*>(words),
          SignatureReader(fabric, protocol, signature_offset, notices_max, hooks),
          ToldStamps(words_offset + count * Parts::lock_bytes),
          NewsPayload({words - words_offset, words_offset + words_bytes(count, fabric.ranks())},
                      {signature_offset, notices_max, hooks},
                      ToldStamps(words_offset + count * Parts::lock_bytes), fabric.self(), fabric.ranks()),
          hooks}) {
  MUSUBI_CHECK(signature_offset + coherence::signature_bytes(notices_max) <= words_offset);
}
LockTable::~LockTable() = default;

// The last holder's signature is acquired with the lock. It covers at least that holder's releases before the
// hand-over; newer notices in it cost at most a needless invalidation. Result: whether another rank had the
// lock before.
Task<bool> LockTable::acquire_from_previous(LockId lock, const remote_lock::Acquisition& taken,
                                            SignatureReader::Look& look) {
  Parts& p = *parts_;
  if (taken.previous == p.fabric.self()) co_return false;
  p.counters.add(trace::Counter::lock_handovers);
  const bool has_payload = taken.payload_bytes != 0;
  if (has_payload) look.take_answer();
  co_await p.signatures.acquire(look, Scope::of_lock(lock, taken.previous), taken.was_along || has_payload);
  co_return true;
}

Task<bool> LockTable::lock_from_elsewhere(LockId lock) {
  Parts& p = *parts_;
  // Polls also while this thread fetches the blocks covered by the lock: the previous rank may then want it
  // again.
  fabric::PollScope looks(&p.fabric);
  looks.begin();
  SignatureReader::Look look(p.signatures);
  NewsPiggyback piggyback(look, p.told, p.fabric.self(), p.requests);
  const remote_lock::Acquisition taken = co_await p.queue.lock(lock.value, p.initial_home(lock), &piggyback);
  co_return co_await acquire_from_previous(lock, taken, look);
}

// `stayed`: no other rank has had it since.
Task<> LockTable::end_taking(LocalLock& local, bool stayed) {
  Parts& p = *parts_;
  if (stayed && p.protocol.binds_to_locks()) co_await p.protocol.retake(LockId{local.number});
  p.note_taken(local, stayed);
}

// A kept lock that is claimed goes to the claiming rank first.
Task<> LockTable::lock(LockId lock) {
  Parts& p = *parts_;
  LocalLock& local = p.local(lock);
  bool is_retaken = false;
  for (unsigned attempt = 0;; ++attempt) {
    if (!local.hold.try_take()) co_await local.hold.take();
    if (!local.kept.load()) break;
    is_retaken = p.retake(local);
    if (is_retaken) break;
    local.hold.give_back();
    co_await pause(attempt);
  }
  bool stayed = true;
  if (!is_retaken && !p.queue.try_lock_at_home(lock.value, p.initial_home(lock))) {
    stayed = !co_await lock_from_elsewhere(lock);
  }
  co_await end_taking(local, stayed);
}

Task<bool> LockTable::try_lock(LockId lock) {
  LocalLock& local = parts_->local(lock);
  if (!local.hold.try_take()) co_return false;
  const bool taken = co_await try_lock_held(local);
  if (!taken) local.hold.give_back();
  co_return taken;
}

Task<bool> LockTable::try_lock_held(LocalLock& local) {
  Parts& p = *parts_;
  const LockId lock{local.number};
  bool stayed = true;
  if (local.kept.load()) {
    if (!p.retake(local)) co_return false;
  } else {
    SignatureReader::Look look(p.signatures);
    NewsPiggyback piggyback(look, p.told, p.fabric.self(), p.requests);
    const std::optional<remote_lock::Acquisition> taken =
        co_await p.queue.try_lock(lock.value, p.initial_home(lock), &piggyback);
    if (!taken) co_return false;
    stayed = !co_await acquire_from_previous(lock, *taken, look);
  }
  co_await end_taking(local, stayed);
  co_return true;
}

Task<> LockTable::unlock(LockId lock) {
  Parts& p = *parts_;
  co_await p.protocol.release(Scope::of_lock(lock, p.fabric.self()), false);
  co_await p.queue.unlock(lock.value, &p.payload);
  p.local(lock).hold.give_back();
}

}  // namespace musubi::sync
