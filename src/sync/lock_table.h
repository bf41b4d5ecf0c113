// The user locks of the job: queue locks whose payload is the signature of the last holder (coherence.md
// section 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "remote_lock/queue_lock.h"
#include "sync/lock_news.h"
#include "trace/counters.h"

namespace musubi::sync {

class LockTable {
 public:
  // `words` (words_bytes(count, ranks), zero) lies in the control region at `words_offset`; the protocol's
  // signature of each rank in the control region at `signature_offset`, before that. Lock i starts at rank i
  // mod ranks. A lock that no rank has used costs no memory, but for the rest of a page.
  LockTable(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
            remote_lock::Grants& grants, std::byte* words, std::uint64_t words_offset, std::size_t count,
            std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks = {});
  ~LockTable();
  static constexpr std::size_t words_bytes(std::size_t count, std::uint32_t ranks) {
    return (words_per_lock * count + ranks) * sizeof(std::uint64_t);
  }

  // Not recursive. The tasks of one rank that want the same lock queue up; one that comes while the first of
  // them wakes up may pass it, a few times.
  // try_lock waits for no holder of the lock, and for no rank in its queue; only for the release of a rank
  // that keeps it (below).
  Task<> lock(LockId lock);
  Task<bool> try_lock(LockId lock);
  Task<> unlock(LockId lock);

  // ---- locks that stay with a rank (docs/decisions/locks.md) ----
  //
  // A rank that has taken a lock often in a row keeps it when it unlocks, and releases nothing. Its next
  // release of everything frees the lock; a rank that wants it before that asks for such a release.
  //
  // From now on, if `uses` is not 0: the last of so many in a row. `requests` lives as long.
  void let_stay(std::uint32_t uses, ReleaseRequests& requests) noexcept;
  // lock() without waiting, if the lock is here, and free or kept. Else nothing happens. Cheap.
  bool lock_at_once(LockId lock) noexcept;
  // Instead of unlock(), where the lock stays. Else nothing happens. Cheap.
  bool keep(LockId lock) noexcept;
  // Whether another rank wants a lock that this rank keeps.
  bool is_claimed(LockId lock) const noexcept;
  // Releases, and gives the lock to the rank that wants it: for a thread that wants it, too, and comes before
  // that release.
  Task<> give_up(LockId lock);

  struct LocalLock;
  // Locks that were kept at some moment. Each must be settled.
  class Kept {
   public:
    Kept() = default;
    explicit Kept(LocalLock* first) : first_(first) {}

   private:
    friend LockTable;
    LocalLock* first_ = nullptr;
  };
  Kept kept() noexcept;
  // After a release of everything that began after kept(). free(): those that nobody wants; it waits for
  // nothing. give(): also gives the others to those who want them. Result: false when another rank wants one
  // that was not settled: the background must answer once more.
  bool free(Kept kept) noexcept;
  void put_back(Kept kept) noexcept;  // instead of that
  Task<bool> give(Kept kept);

 private:
  // The owner word, the tail word, and the address of this rank's LocalLock.
  static constexpr std::size_t words_per_lock = 3;

  struct Parts;
  enum class Settled : std::uint8_t { yes, not_yet, claimed };
  Task<bool> acquire_from_previous(LockId lock, const remote_lock::Taken& taken, SignatureReader::Look& look);
  Task<bool> lock_from_elsewhere(LockId lock);
  Task<> end_taking(LocalLock& local, bool stayed);
  Task<bool> try_lock_held(LocalLock& local);
  Task<bool> take_kept(LocalLock& local);
  Settled settle(LocalLock& local) noexcept;
  bool list_again(LocalLock& local) noexcept;

  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
