// Common to policies with fixed homes. The home's program works on a block's newest bytes in place. Other
// ranks fetch them from there, make a twin at their first write, and put the bytes that they changed there at
// a release. A policy decides which ranks must learn of a change, and how.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer_pool.h"
#include "base/event.h"
#include "base/sparse_array.h"
#include "base/task.h"
#include "base/task_group.h"
#include "coherence/core/block_words.h"
#include "coherence/core/parameters.h"
#include "coherence/home_based/packets.h"
#include "coherence/home_based/puts.h"
#include "coherence/no_ordering.h"
#include "coherence/protocol.h"
#include "coherence/regions.h"
#include "coherence/rules/states.h"
#include "coherence/store/block_list.h"
#include "coherence/store/block_store.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence {

// One object per rank; any thread of it.
class FixedHome : public Protocol {
 public:
  Task<bool> fault(BlockId block, vm::Access wanted) override;
  Task<> overwrite(vm::BlockRun run) override;
  Task<bool> open_for_stores(BlockId block) override;
  Task<> written(vm::BlockRun run) override;
  Task<> take_home(vm::BlockRun run) override;
  Task<> set_home(vm::BlockRun run, Rank home) override;
  void set_store_bound(const StoreBound& bound) noexcept override { store_.set_store_bound(bound); }
  Task<> release(Scope scope, bool quiescent) override;
  Task<> modify(BlockId block, Modification& modification) override;
  void pin(BlockId first, std::uint64_t count) override;
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  Ordering& ordering() override { return ordering_; }

  // The bytes of an Entry that these policies use: the state, pinned, two lists, two habits that are flags,
  // and two counts.
  static constexpr std::size_t entry_bytes = 10;

 protected:
  using Counter = trace::Counter;
  // As Migrating.
  FixedHome(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
            remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
            const PrivateParts* private_parts);
  ~FixedHome() override = default;

  // The policy brings the home's bytes into `target`, and notes how long they hold. Under the block's gate,
  // not at its home. Result: false when the bytes here are still the newest; `target` then means nothing.
  virtual Task<bool> bring(Block& b, std::byte* target) = 0;
  // The same without the bytes, all of which the program is about to overwrite: notes how long a copy of the
  // newest version holds. Under the block's gate, not at its home. Result: false where the policy cannot.
  virtual Task<bool> bring_nothing(Block&) { co_return false; }
  // The policy carries out `puts` as a part of one batch to the home, and tells the change to every rank that
  // must learn of it. At the home `puts` is empty: the program has written in place. May add steps to `puts`.
  // Under the block's gate.
  virtual Task<> publish(Block& b, Puts& puts) = 0;
  // Whether the policy counts versions as packets.h does: then a release sends the changes of many blocks in
  // packets, and `publish` is for atomic operations, and for blocks at home.
  virtual bool takes_packets() const { return false; }
  // A packet has published the block. Under the block's gate.
  virtual void note_published(Block&, const PublishedAtHome&) {}
  // The program may read the copy of a block whose home is elsewhere. Under the block's gate.
  virtual void note_copy(Block&) {}

  Block block(BlockId id) const {
    Block b = store_.block(id);
    b.initial_home = home_of(id);
    parameters_.hooks.spoil(b.entry.habits);
    return b;
  }
  Rank home_of(BlockId id) const {
    const std::uint32_t moved = homes_moved_.load() ? homes_[id.value] : 0;
    return moved != 0 ? Rank{moved - 1} : space_.initial_home(id);
  }
  Gate& gate(BlockId id) { return store_.gate(id); }
  bool is_at_home(const Block& b) const { return b.initial_home == fabric_.self(); }
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const { return store_.shared(word); }
  void count(Counter counter, std::uint64_t amount = 1) { counters_.add(counter, amount); }

  // A copy of this rank may no longer be used. Closes it or, if it is read again and again, leaves it to a
  // later refresh() by this acquire. Result: whether it is to be refreshed.
  bool invalidate_or_keep(Block& b);
  void invalidate(Block& b);
  bool worth_fetching_ahead(Entry& e);
  // Bring the newest bytes of blocks that may be open, with bytes that this rank's threads may still read
  // until its acquire ends; as many at once as a release has on the way.
  Task<> refresh(BlockId id);
  Task<> refresh_all(std::span<const BlockId> blocks);
  Task<> fetch(Block& b);
  // The acquire that belongs to a quiescent release has ended.
  void end_barrier() { at_barrier_.store(false); }

  fabric::Fabric& fabric_;
  const Parameters parameters_;
  Gate acquire_gate_;  // copies that one acquire ends must be invalid before another that covers it ends

 private:
  // The cause: a release, or the program's word that it will not write there again before the next one.
  enum class Sending : std::uint8_t { release, quiescent_release, early };

  struct Batch;
  static const std::size_t batch_bytes;

  Task<> send_all(TaskGroup& group, std::span<BlockId> blocks, Sending sending);
  std::size_t number_for_packet(std::span<const BlockId> blocks) const;
  Task<> send_in_packets(std::span<const BlockId> blocks, Sending sending);
  Task<> send_batch(Batch& batch, Sending sending);
  Task<> send_block(BlockId id, Sending sending);
  bool has_late_stores(BlockId id, Sending sending) const;
  bool begin_sending(Block& b, Sending sending);
  void end_sending(Block& b, bool changed, Sending sending);
  Task<> release_at_home(Block& b, bool late_stores);
  Task<> for_each(vm::BlockRun run, Task<> (FixedHome::*work)(BlockId));
  Task<> open_without_bytes(BlockId id);
  void make_whole_public(Block& b);
  Task<> put_whole(Block& b);
  Task<bool> put_changes(Block& b, Changes::Piece value = {});
  Task<> modify_elsewhere(Block& b, Modification& modification);
  Changes::Piece value_of(const Block& b, const Modification& modification) const;
  void open(Block& b, vm::Access wanted);
  void list(Block& b);
  void accept(Block& b, const std::byte* data);
  Task<> complete(Block& b);
  Task<> take_home_of(BlockId id);

  const vm::Space& space_;
  vm::Vm& vm_;
  trace::Counters& counters_;
  BlockStore store_;
  BufferPool packets_;
  remote_lock::QueueLock locks_;  // for modify() alone
  Gate release_gate_;
  std::atomic<bool> at_barrier_{false};  // a quiescent one: no thread of the rank runs program code
  BlockList dirty_;
  std::vector<BlockId> pinned_;
  // By block: 0, or one more than its home, if that has moved.
  std::atomic<bool> homes_moved_{false};
  SparseArray<std::uint32_t> homes_;
  NoOrdering ordering_{*this};
};

}  // namespace musubi::coherence
