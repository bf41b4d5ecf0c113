// The policy `entry`: implicitly binding entry consistency, IBEC (Midorikawa and Iizuka, paper SMS). The
// writes of a rank while it holds a lock are bound to that lock, and the next holder gets them with the lock.
// At a barrier everything becomes consistent. Nothing else is promised: no flush, no plain flag.
// docs/decisions/policies.md says why it is right.
//
// All threads of a rank that touch such memory meet at its barriers.
#pragma once

#include "coherence/core/block_gates.h"
#include "coherence/entry/barriers.h"
#include "coherence/entry/ground.h"
#include "coherence/entry/layout.h"
#include "coherence/entry/locks.h"
#include "coherence/entry/pages.h"
#include "coherence/entry/updates.h"
#include "coherence/no_ordering.h"
#include "coherence/protocol.h"
#include "remote_lock/queue_lock.h"

namespace musubi::coherence {

// Changes who manages pages while the job runs.
class PageManagers {
 public:
  // From the next barrier on `manager` gives out the page's copies, and gets all of its updates. Any thread
  // of any rank; of several ranks that ask before one barrier, the highest decides, of one rank the last
  // call. All blocks belong to the policy.
  virtual void change_manager(vm::BlockRun blocks, Rank manager) = 0;

 protected:
  ~PageManagers() = default;
};

// The memory of this policy, in addition to that of all policies.
struct EntryMemory {
  entry::Sizes sizes;
  std::byte* own = nullptr;  // this rank's part of updates_region: Layout::of(sizes).bytes zero bytes
  std::uint8_t number = 0;   // Segment::policy of its segments
  entry::Overflow* overflow = nullptr;
  std::uint64_t unused_barriers = 0;  // after which an unused page is unmapped; 0: never
};

// One object per rank; any thread of it.
class EntryConsistency final : public Protocol, public PageManagers {
 public:
  // As Migrating.
  EntryConsistency(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                   remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                   const EntryMemory& entry_memory);

  Task<bool> fault(BlockId block, vm::Access wanted) override { return pages_.fault(block, wanted); }
  Task<> release(Scope scope, bool quiescent) override;
  bool release_at_once(bool) override { return !has_blocks(); }
  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  bool acquire_at_once(SignatureView, Audience) override { return !has_blocks(); }
  bool binds_to_locks() const noexcept override { return has_blocks(); }
  Task<> retake(LockId lock) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t mark) override { signature_.forget(mark); }
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime) override { co_return; }
  Task<> modify(BlockId block, Modification& modification) override;
  void pin(BlockId first, std::uint64_t count) override;
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  Ordering& ordering() override { return ordering_; }
  void adopt(BlockId first, std::uint64_t count) override { pages_.adopt(first, count); }

  void change_manager(vm::BlockRun blocks, Rank manager) override {
    barriers_.change_manager(blocks, manager);
  }

 private:
  bool has_blocks() const noexcept;

  const Parameters parameters_;
  const std::uint8_t number_;
  Signature& signature_;
  entry::Ground ground_;
  entry::Pages pages_;
  entry::Updates updates_;
  entry::Locks locks_;
  entry::Barriers barriers_;
  remote_lock::QueueLock block_locks_;  // for modify() alone
  BlockGates<64> modify_gates_;
  NoOrdering ordering_{*this};
  mutable std::atomic<std::size_t> looked_at_{0};  // segments
  mutable std::atomic<bool> has_blocks_{false};
};

}  // namespace musubi::coherence
