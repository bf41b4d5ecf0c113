// The common ground of all parts of the policy `migrating`: the rank's ports, its blocks, their locks, its
// lists and its times. It offers the procedures that other ranks call here, and carries out nothing else.
// README.md says which part calls which.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "coherence/core/parameters.h"
#include "coherence/core/signature.h"
#include "coherence/core/version.h"
#include "coherence/migrating/for_others/reads.h"
#include "coherence/migrating/ground/held_block.h"
#include "coherence/migrating/ground/rank_state.h"
#include "coherence/rules/evictions.h"
#include "coherence/rules/invariants.h"
#include "coherence/rules/notices.h"
#include "coherence/rules/publication.h"
#include "coherence/rules/states.h"
#include "coherence/store/block_list.h"
#include "coherence/store/block_store.h"
#include "coherence/store/residents.h"
#include "coherence/store/visit_board.h"
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
  // co_await enter(id) gives the block when no other task holds its gate; try_enter() none if one does. A
  // task holds one gate at a time, or several by trying.
  auto enter(BlockId id) { return Entering{*this, id, store.gate(id).enter()}; }
  std::optional<HeldBlock> try_enter(BlockId id) {
    std::optional<Gate::Pass> pass = store.gate(id).try_enter();
    if (!pass) return std::nullopt;
    return hold(id, std::move(*pass));
  }
  // After the task has waited: visitors may have come in the meantime.
  HeldBlock& look_again(HeldBlock& b) const {
    learn_of_visitors(b);
    parameters.hooks.spoil(b.entry.habits);
    return b;
  }
  // A word that other ranks, or other threads of this one, may read or change at any time.
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const { return store.shared(word); }
  remote_lock::OwnerWord own_word(const Block& b) const {
    return remote_lock::OwnerWord{shared(b.words.owner).load()}.resolved(self(), b.initial_home);
  }
  // The version that the public copy here is of; none: there is no public copy here.
  LogicalTime public_ts(const Block& b) const { return LogicalTime{shared(b.words.public_ts).load()}; }
  bool has_public_copy(const Block& b) const { return public_ts(b) != LogicalTime{}; }
  // Whether this rank is the block's home; a visitor may have its lock.
  bool is_home(const Block& b) const { return own_word(b).tag() != remote_lock::Ownership::link; }
  // For a block whose home is elsewhere: the rank where it was last seen.
  Rank believed_home(const Block& b) const {
    return b.entry.known.home_known && b.entry.known.home() != self() ? b.entry.known.home()
                                                                      : own_word(b).target();
  }
  // The next place to look for the home: `asked` is not the home and points to `linked`, link number `links`
  // of this search. The first may be right; more lead over all homes of the past. The initial home knows
  // which rank is the last, and says so.
  Rank place_after(const Block& b, Rank asked, Rank linked, unsigned links) const {
    MUSUBI_CHECK(links != 0);
    if (links == 1 || asked == b.initial_home) return linked;
    if (b.initial_home != self()) return b.initial_home;
    return remote_lock::TailWord{shared(b.words.tail).load()}.rank(b.initial_home);
  }
  // Takes the lock if this rank is the home; waits for visitors only.
  Task<bool> lock_if_home(const HeldBlock& b) { return locks.lock_if_home(b.id.value, b.initial_home); }
  // The version at this home, under the block's lock. Visitors name versions, and its bytes are here.
  Version version_at_home(HeldBlock& b) const {
    learn_of_visitors(b);
    return {LogicalTime{shared(b.words.write_ts).load()}, LogicalTime{shared(b.words.read_ts).load()}};
  }
  // The bytes here are of the newest version that this rank was home of, even if a visitor named it. Bytes of
  // older ones must not replace them: the rank that comes next in the lock's queue takes the public copy.
  void learn_of_visitors(HeldBlock& b) const {
    const LogicalTime named{shared(b.words.write_ts).load()};
    if (named <= b.entry.held.write_ts || injected(InjectedBug::visitor_not_heard)) return;
    b.entry.held.write_ts = named;
    b.entry.held.read_ts = named;  // the word may be one that a reader raises in vain: only the lock tells
    b.entry.published.visited = true;
  }
  // A rank has operated atomically on these words of the block. `words`: those of some rank.
  void learn_atomic_words(BlockWords& words, std::uint64_t atomic_words) const {
    const auto known = shared(words.atomic_words);
    if ((known.load() & atomic_words) != atomic_words) known.fetch_or(atomic_words);
  }
  // `home`, another rank, is the home of the block, as a look has shown. The chain of links gets shorter; no
  // other rank changes a link of this one.
  void note_home(HeldBlock& b, Rank home) const {
    MUSUBI_CHECK(home != self());
    b.entry.known.set_home(home);
    if (own_word(b).tag() == remote_lock::Ownership::link)
      shared(b.words.owner).store(remote_lock::OwnerWord::link_to(home).raw);
  }
  // A release looks at the block.
  void list(HeldBlock& b) {
    MUSUBI_CHECK(!b.entry.copy.pinned);
    if (b.entry.queues.releases) return;
    b.entry.queues.releases = true;
    dirty.add(b.id);
  }
  // Releases do not look at the block until it is woken: by a visitor's mark, or before its home makes a
  // version that other ranks can read. Under its lock, before its version is raised. REQUIRES: not listed.
  void let_sleep(HeldBlock& b) {
    MUSUBI_CHECK(!b.entry.queues.releases && !b.entry.copy.pinned && !b.words.rests());
    b.entry.queues.releases = true;
    if (!b.entry.queues.sleepers) {
      b.entry.queues.sleepers = true;
      sleepers.add(b.id);
    }
    shared(b.words.stillness).fetch_or(BlockWords::asleep);
  }
  void wake(HeldBlock& b) {
    if ((shared(b.words.stillness).load() & BlockWords::asleep) == 0) return;
    shared(b.words.stillness).fetch_and(~BlockWords::asleep);
    dirty.add(b.id);
  }

  // At its home: the block is closed here, with nothing unreleased. Other ranks may operate on it from now
  // on. Under its lock.
  void let_rest(HeldBlock& b) {
    MUSUBI_CHECK(b.entry.copy.state == State::invalid_clean && !b.entry.copy.pinned && !b.words.sleeps());
    b.entry.copy.rested = true;
    shared(b.words.stillness).fetch_or(BlockWords::at_rest);
  }
  // A thread here may open the block from now on. Under its lock.
  void end_rest(HeldBlock& b) {
    if ((shared(b.words.stillness).load() & BlockWords::at_rest) != 0 &&
        !injected(InjectedBug::home_reopened_at_rest))
      shared(b.words.stillness).fetch_and(~BlockWords::at_rest);
  }
  // The block's bytes take memory here.
  void note_resident(const HeldBlock& b) {
    if (b.entry.habits.was_evicted) {
      b.entry.habits.was_evicted = false;
      count(Counter::refetched_bytes, b.extent.bytes);
    }
    if (!b.entry.copy.pinned) residents.add(b.id, b.entry, b.extent.bytes, Residence::fresh);
  }

  // Bytes that come from other ranks stay closed until they have been acquired.
  bool keeps_order() const { return visits.keeps_order() && !alone.load(); }
  // The same, as a fault of a thread that keeps order sees it.
  bool keeps_order_now() const { return visits.keeps_order_for(VisitBoard::Order::now) && !alone.load(); }
  // The quiescent state: no thread of this rank runs program code, so open pages may change.
  bool is_quiescent() const { return static_cast<bool>(quiescence); }
  // Order is kept while threads run: they see no update before an acquire in order has covered it.
  bool hides_updates() const { return keeps_order() && !is_quiescent(); }
  // Whether the rank is alone still, after all that the calling thread has written: that goes out with the
  // release that ends this.
  bool has_no_one_to_tell() const {
    if (!alone.load()) return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return alone.load();
  }
  bool may_be_unpublished(const Entry& e) const {
    return rules::may_be_unpublished(e, keeps_order(), parameters);
  }
  bool may_change_in_place(const Entry& e) const { return e.copy.pinned || !hides_updates(); }
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
  // All that always holds of a block whose gate a task is about to leave.
  void check(const Block& b) const;
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
  std::atomic<bool> alone{false};              // Ordering::set_alone()
  std::atomic<std::uint8_t> openings_hold{0};  // the hold in force (FaultGates::hold_openings()), or 0
  ComparisonCost comparison_cost;
  BlockList dirty;
  BlockList sleepers;  // all blocks that sleep, and some that slept
  Residents residents;
  VisitBoard visits;
  const HomeSide home_side;
  Times times;

 private:
  struct Entering {
    Ground& ground;
    BlockId id;
    Gate::Awaiter gate;

    bool await_ready() noexcept { return gate.await_ready(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
      return gate.await_suspend(waiting);
    }
    HeldBlock await_resume() const { return ground.hold(id, gate.await_resume()); }
  };
  HeldBlock hold(BlockId id, Gate::Pass pass) const {
    HeldBlock b(*this, store.block(id), std::move(pass));
    look_again(b);
    return b;
  }
};

inline HeldBlock::~HeldBlock() {
  if (ground_ == nullptr) return;
  MUSUBI_CHECK(rules::entry_holds(entry), "block %lu: %s does not hold", static_cast<unsigned long>(id.value),
               rules::broken_at_gate({entry, words}));
  if constexpr (is_simulated_build) ground_->check(*this);
}

}  // namespace musubi::coherence::migrating
