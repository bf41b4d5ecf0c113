// What the three policies for comparison have in common (docs/decisions/baselines.md): every block has a
// fixed home, whose program works on the block's newest bytes in place; other ranks fetch them from there,
// make a twin at their first write, and put the bytes that they changed there at a release. Who must know
// that a block has changed, and how, is the policy.
//
// For the simulator: one thread per rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/event.h"
#include "base/sparse_array.h"
#include "base/task.h"
#include "coherence/core/block_words.h"
#include "coherence/core/parameters.h"
#include "coherence/no_ordering.h"
#include "coherence/protocol.h"
#include "coherence/regions.h"
#include "coherence/rules/states.h"
#include "coherence/store/block_store.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence {

class HomeBased : public Protocol {
 public:
  Task<bool> fault(BlockId block, vm::Access wanted) override;
  Task<> release(bool quiescent) override;
  Task<> modify(BlockId block, Modification& modification) override;
  void pin(BlockId first, std::uint64_t count) override;
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  Ordering& ordering() override { return ordering_; }

  // Of an Entry these policies use the state, the flags pinned, listed, queued (here: among the blocks that
  // follow_ names), was_invalidated and wanted, and two counts.
  static constexpr std::size_t entry_bytes = 10;

 protected:
  using Counter = trace::Counter;
  HomeBased(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
            remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
            const PrivateParts* private_parts);
  ~HomeBased() override = default;

  // The policy brings the home's bytes into `target`, with what it needs to know how long they hold. Under
  // the block's gate, not at its home. Result: false when the bytes that are here are still the newest, and
  // `target` means nothing. Nothing is awaited between its last look at what it needs to know and its end.
  virtual Task<bool> bring(Block& b, std::byte* target) = 0;
  // The policy carries out `puts` (none at the home: its program has written in place) as a part of one batch
  // to the home, and sees to it that everybody learns of the change who must. May add steps to `puts`.
  virtual Task<> publish(Block& b, std::vector<fabric::Step>& puts) = 0;

  Block block(BlockId id) const { return store_.block(id); }
  Gate& gate(BlockId id) { return store_.gate(id); }
  bool is_at_home(const Block& b) const { return b.initial_home == fabric_.self(); }
  static std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) {
    return std::atomic_ref<std::uint64_t>(word);
  }
  void count(Counter counter, std::uint64_t amount = 1) { counters_.add(counter, amount); }

  // A copy of this rank may no longer be used: closes it, or, if it is read again and again, leaves it to a
  // later refresh() by this acquire. Result: whether it is to be refreshed.
  bool invalidate_or_keep(Block& b);
  void invalidate(Block& b);
  bool worth_fetching_ahead(Entry& e);
  // Brings the newest bytes of blocks; as many at once as a release has on the way.
  Task<> refresh_all(std::span<const BlockId> blocks);
  Task<> fetch(Block& b);

  // The blocks with a valid copy here whose home is elsewhere.
  template <class Visit>
  void for_each_copy(Visit&& visit);

  fabric::Fabric& fabric_;
  Parameters parameters_;
  Gate acquire_gate_;  // what one acquire makes invalid must be so before another that covers it ends

 private:
  Task<> refresh(BlockId id);
  Task<> release_block(BlockId id);
  Task<> modify_elsewhere(Block& b, Modification& modification);
  void follow(Block& b);
  void list(Block& b);
  void accept(Block& b, const std::byte* data);
  std::vector<fabric::Step> collect_changes(Block& b, std::byte* snapshot);

  const vm::Space& space_;
  vm::Vm& vm_;
  trace::Counters& counters_;
  BlockStore store_;
  remote_lock::QueueLock locks_;  // for modify() alone
  Gate release_gate_;
  std::vector<BlockId> dirty_;
  std::vector<BlockId> pinned_;
  std::vector<BlockId> follow_;
  NoOrdering ordering_{*this};
};

template <class Visit>
void HomeBased::for_each_copy(Visit&& visit) {
  std::size_t kept = 0;
  for (const BlockId id : follow_) {
    Block b = block(id);
    if (rules::is_valid(b.entry)) visit(b);
    b.entry.queued = rules::is_valid(b.entry);
    if (b.entry.queued) follow_[kept++] = id;
  }
  follow_.resize(kept);
}

}  // namespace musubi::coherence
