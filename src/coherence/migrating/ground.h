// The common ground of all parts of the policy `migrating`: the rank's ports, its blocks, their locks, its
// lists and its times. It carries nothing out. README.md says which part calls which.
#pragma once

#include <atomic>
#include <cstdint>

#include "coherence/core/parameters.h"
#include "coherence/core/signature.h"
#include "coherence/core/version.h"
#include "coherence/migrating/comparison_cost.h"
#include "coherence/migrating/quiescence.h"
#include "coherence/migrating/times.h"
#include "coherence/rules/notices.h"
#include "coherence/rules/publication.h"
#include "coherence/rules/states.h"
#include "coherence/store/block_list.h"
#include "coherence/store/block_store.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence::migrating {

using trace::Counter;

struct Ground {
  // As Migrating. `signature` is the rank's own.
  Ground(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
         remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
         const PrivateParts* private_parts);

  Rank self() const { return fabric.self(); }
  Gate& gate(BlockId id) { return store.gate(id); }
  Block block(BlockId id) const { return store.block(id); }
  // A word that other ranks, or other threads of this one, may look at or change meanwhile.
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const { return store.shared(word); }
  remote_lock::OwnerWord own_word(const Block& b) const {
    return remote_lock::OwnerWord{shared(b.words.owner).load()}.resolved(self(), b.initial_home);
  }
  // The home's times, under the block's lock. Readers may raise the lease meanwhile.
  Version home_version(const Block& b) const {
    return {LogicalTime{b.words.write_ts}, LogicalTime{shared(b.words.read_ts).load()}};
  }
  // A release looks at the block. Under its gate.
  void list(BlockId id, Entry& e) {
    if (e.listed) return;
    e.listed = true;
    dirty.add(id);
  }

  // Bytes that come from other ranks stay closed until they have been acquired.
  bool keeps_order() const { return publishes_always.load() || ordered.load(); }
  bool may_be_unpublished(const Entry& e) const {
    return rules::may_be_unpublished(e, keeps_order(), parameters);
  }
  bool may_change_in_place(const Entry& e) const { return e.pinned || quiescence || !keeps_order(); }
  bool may_differ_from_twin(const Entry& e) const {
    return rules::may_differ_from_twin(e, quiescence.number());
  }
  // Whether a copy that was read between two looks at its version may have been no copy any more.
  bool is_given_back(std::uint64_t version_before, std::uint64_t version_after) const {
    return copy_given_back_between(version_before, version_after) &&
           !injected(InjectedBug::dropped_copy_not_noticed);
  }
  bool names_a_copy(const Entry& e) const { return rules::names_a_copy(e, times.acquired(), self()); }

  void count(Counter counter, std::uint64_t amount = 1) { counters.add(counter, amount); }
  void count_fetch(const Block& b) {
    count(Counter::fetches);
    count(Counter::fetched_bytes, b.extent.bytes);
  }
  // Of the simulator (hooks/hooks.h).
  bool injected(InjectedBug bug) const { return parameters.hooks.injected(bug); }
  void others_may_act() const { parameters.hooks.others_may_act(); }

  const vm::Space& space;
  fabric::Fabric& fabric;
  vm::Vm& vm;
  trace::Counters& counters;
  const Parameters parameters;
  BlockStore store;
  remote_lock::QueueLock locks;
  Signature& signature;
  Gate release_gate;  // one release at a time
  Quiescence quiescence;
  ComparisonCost comparison_cost;
  BlockList dirty;
  Times times;
  std::atomic<bool> publishes_always{false};
  std::atomic<bool> ordered{false};
};

}  // namespace musubi::coherence::migrating
