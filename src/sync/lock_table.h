// The user locks of the job: queue locks whose payload is the signature of the last holder (section 7 of
// docs/design/coherence.md).
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
  // `words` (words_bytes(count, ranks), zero) are in the control region at `words_offset`; each rank's
  // signature is in its control region at `signature_offset`, before them. Lock i starts at rank i mod ranks.
  // A lock that no rank has used takes no memory, except for the rest of a page.
  LockTable(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
            remote_lock::Grants& grants, std::byte* words, std::uint64_t words_offset, std::size_t count,
            std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks = {});
  ~LockTable();
  static constexpr std::size_t words_bytes(std::size_t count, std::uint32_t ranks) {
    return (words_per_lock * count + ranks) * sizeof(std::uint64_t);
  }

  // Not recursive. The tasks of one rank that want the same lock queue up; a running task may overtake the
  // first of them a few times while that wakes up. try_lock does not wait for the holder of the lock or for
  // its queue, only for the release of a rank that keeps it (below).
  Task<> lock(LockId lock);
  Task<bool> try_lock(LockId lock);
  Task<> unlock(LockId lock);

  // ---- locks that stay with a rank (docs/decisions/locks.md) ----
  //
  // A rank that has taken a lock often in a row keeps it at the next unlock, and releases nothing. Its next
  // release of everything frees the lock; a rank that wants it earlier asks for such a release.
  //
  // A rank keeps a lock after `uses` consecutive uses; 0: never. `requests` lives as long as this object.
  void let_stay(std::uint32_t uses, ReleaseRequests& requests) noexcept;
  // lock() without waiting, if the lock is here, and free or kept. Otherwise no effect. Cheap.
  bool lock_at_once(LockId lock) noexcept;
  // Replaces unlock() if the lock stays. Otherwise no effect. Cheap.
  bool keep(LockId lock) noexcept;
  // Whether another rank wants a lock that this rank keeps.
  bool is_claimed(LockId lock) const noexcept;
  // Releases, and gives the lock to the rank that wants it: for a thread that wants it, too, and does not
  // wait for the next release.
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
  // After a release of everything that began after kept(). free() frees the locks that no rank wants, without
  // waiting. give() also gives the wanted ones to the ranks that want them. Result: false if another rank
  // wants a lock that was not settled: the background must answer once more.
  bool free(Kept kept) noexcept;
  void put_back(Kept kept) noexcept;  // instead of free() or give()
  Task<bool> give(Kept kept);

 private:
  // The owner word, the tail word, and the address of this rank's LocalLock.
  static constexpr std::size_t words_per_lock = 3;

  struct Parts;
  enum class Settled : std::uint8_t { yes, not_yet, claimed };
  Task<bool> acquire_from_previous(LockId lock, const remote_lock::Acquisition& taken,
                                   SignatureReader::Look& look);
  Task<bool> lock_from_elsewhere(LockId lock);
  Task<> end_taking(LocalLock& local, bool stayed);
  Task<bool> try_lock_held(LocalLock& local);
  Task<bool> take_kept(LocalLock& local);
  Settled settle(LocalLock& local) noexcept;
  bool list_again(LocalLock& local) noexcept;

  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
