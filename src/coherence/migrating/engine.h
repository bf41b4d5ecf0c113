// The engine of the policy `migrating`: what all its parts share, and the steps that they are made of. The
// parts: fetch.cpp (read misses), first_touch.cpp (the first write), run.cpp (blocks that come along),
// release.cpp (new versions), downgrade.cpp (how long blocks stay writable), unpublished.cpp (blocks without
// a public copy), copies.cpp (public copies that nobody needs any more), acquire.cpp (notices and leases),
// at_once.cpp (barriers at which nothing happens), order.cpp (programs that hand data over by plain flags),
// held_back.cpp (the same for stacks), migrating.cpp (the façade).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "base/event.h"
#include "base/task.h"
#include "base/task_group.h"
#include "coherence/core/signature.h"
#include "coherence/core/version.h"
#include "coherence/migrating/acquires_in_order.h"
#include "coherence/migrating/block_list.h"
#include "coherence/migrating/comparison_cost.h"
#include "coherence/migrating/fault_holds.h"
#include "coherence/migrating/held_back.h"
#include "coherence/migrating/lease_queue.h"
#include "coherence/migrating/looks.h"
#include "coherence/migrating/migrating.h"
#include "coherence/migrating/quiescence.h"
#include "coherence/migrating/run_builder.h"
#include "coherence/migrating/stacks_in_use.h"
#include "coherence/migrating/stream_detector.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/naming.h"
#include "coherence/rules/notices.h"
#include "coherence/rules/publication.h"
#include "coherence/rules/states.h"
#include "coherence/store/block_store.h"

namespace musubi::coherence::migrating {

using trace::Counter;

class Engine {
 public:
  Engine(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
         remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
         const PrivateParts* private_parts, Interruption* interruption);

  // Waits for the end of what holds faults, and tries again.
  Task<FaultOutcome> fault_after_holds(BlockId block, Touch touch, bool in_order);
  void set_store_bound(StoreBound bound) noexcept { store_.set_store_bound(bound); }
  const RaceLog* races() const { return store_.races(); }
  Task<> release(bool quiescent);
  Task<> release_as_of_now();
  bool release_at_once(bool quiescent);
  Task<> acquire(SignatureView signature, Audience audience);
  bool acquire_at_once(SignatureView signature, Audience audience);
  Task<> acquire_clock(LogicalTime time);
  Task<> modify(BlockId block, Modification& modification);
  void pin(BlockId first, std::uint64_t count);
  void note_stack(std::size_t slot, std::uintptr_t low, std::uintptr_t high) { stacks_.set(slot, low, high); }
  void adopt(BlockId first, std::uint64_t count);
  void publish_always() { publish_always_.store(true); }
  void set_ordered(bool ordered) { ordered_.store(ordered); }
  Task<> end_of_unordered();
  Task<> hold_openings();
  Reread reread_while_held() const { return holds_.found(); }
  void allow_openings() { holds_.allow_openings(); }
  Task<bool> has_released_at_barrier();
  Task<> show_held_back() { return held_back_.show_if({.regardless = true}); }
  bool holds_back() const { return !held_back_.empty(); }
  void set_quiescent(bool quiescent) { quiescence_.set_elsewhere(quiescent); }
  std::uint32_t order_begins() { return acquires_.begin(); }
  Task<bool> order_ended(std::uint32_t number);
  bool shows_unordered() const {
    return !acquires_.has_covered(came_open_in_.load()) && !injected(InjectedBug::shown_before_acquired);
  }

  Signature& signature() { return signature_; }
  const Entry& entry(BlockId block) const { return store_.entry(block); }
  LogicalTime acquired() const { return LogicalTime{acquired_.load()}; }
  LogicalTime clock() const { return LogicalTime{clock_.load()}; }

 private:
  struct Run;
  struct RunLook;
  Gate& gate(BlockId id) { return store_.gate(id); }
  Block block(BlockId id) const { return store_.block(id); }
  // The blocks of a pinned range that are in use now; none: count 0.
  vm::BlockRun stack_blocks(std::size_t range) const;
  // Whether a release makes a version even if it finds no difference: who took the live bytes of this rank
  // may have published what it has not released yet.
  bool must_name_anew(const Entry& e) const {
    return e.gave_up_copy && !injected(InjectedBug::taken_change_kept_quiet);
  }
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const { return store_.shared(word); }
  remote_lock::OwnerWord own_word(const Block& b) const {
    return remote_lock::OwnerWord{shared(b.words.owner).load()}.resolved(fabric_.self(), b.initial_home);
  }
  bool names_a_copy(const Entry& e) const { return rules::names_a_copy(e, acquired(), fabric_.self()); }
  // Whether a copy that was read between two looks at its version may have been no copy any more.
  bool is_given_back(std::uint64_t version_before, std::uint64_t version_after) const {
    return copy_given_back_between(version_before, version_after) &&
           !injected(InjectedBug::dropped_copy_not_noticed);
  }
  bool may_be_unpublished(const Entry& e) const {
    return rules::may_be_unpublished(e, keeps_order(), parameters_);
  }
  // The home's times, under the block's lock. Readers may raise the lease meanwhile.
  Version home_version(const Block& b) const {
    return {LogicalTime{b.words.write_ts}, LogicalTime{shared(b.words.read_ts).load()}};
  }
  bool injected(InjectedBug bug) const { return parameters_.injected_bug == bug; }
  void others_may_act() const { store_.others_may_act(); }
  void count_fetch(const Block& b) {
    count(Counter::fetches);
    count(Counter::fetched_bytes, b.extent.bytes);
  }
  void count(Counter counter, std::uint64_t amount = 1) { counters_.add(counter, amount); }
  // Result: the later of both, which the word then holds. Word: an atomic, or a reference to one.
  template <class Word>
  static LogicalTime raise(Word&& word, LogicalTime time) {
    std::uint64_t seen = word.load();
    while (seen < time.value && !word.compare_exchange_weak(seen, time.value)) {
    }
    return later(LogicalTime{seen}, time);
  }

  bool publish_changes(const Block& b);
  bool differs_from_twin(const Block& b);
  void merge_remote(const Block& b, const std::byte* remote, Rebase rebase, Rank giver);
  void make_twin(Block& b);

  Task<Lock> lock(const Block& b, std::byte* place = nullptr);
  Task<> learn_words(const Block& b, Lock& lock);

  // order.cpp
  // What comes from other ranks stays closed until it has been acquired.
  bool keeps_order() const { return publish_always_.load() || ordered_.load(); }
  void note_arrival(const Block& b);
  bool holds_what_came(Block& b);
  // Whether private bytes and twin may differ: a release has not just compared them.
  bool may_differ_from_twin(const Entry& e) const {
    if (e.pinned || e.state != State::writable || e.gave_up_copy) return rules::is_dirty(e);
    return e.compared_in == 0 || e.compared_in != quiescence_.number();
  }
  bool may_change_in_place(const Entry& e) const;
  Task<> end_of_gated();
  Task<> look_while_held(Block& b, std::uintptr_t address);
  bool is_unread(const Block& b) const;
  Task<std::size_t> hold_changed(std::span<BlockId> listed, std::size_t held);
  Task<std::size_t> hold_and_copy_stacks(std::span<BlockId> listed, TaskGroup& elsewhere);
  bool stacks_are_unchanged() const;

  bool must_hold_back(const Entry& e) const;
  bool hold_back(Block& b, const std::byte* remote, Rank giver);
  void show_for(Block& b, const Modification& modification);
  static std::uint64_t atomic_words_of(const Modification& modification);
  void learn_atomic_words(const Block& b, std::uint64_t words) {
    if ((shared(b.words.atomic_words).load() & words) != words) shared(b.words.atomic_words).fetch_or(words);
  }

  Task<FaultOutcome> fault(BlockId block, Touch touch, bool in_order);
  Task<> end_of_holding();
  void set_open(const Block& b, vm::Access wanted);
  Task<> make_writable(Block& b);

  // run.cpp
  bool comes_along(const Block& b, vm::Access wanted, bool in_stream) const {
    const bool worth_it = rules::is_worth_fetching_ahead(b.entry, parameters_);
    return !store_.has_private_parts(b) && rules::comes_along(b.entry, wanted, in_stream, worth_it);
  }
  void gather(const Block& leader, vm::Access wanted, Run& run);
  Task<> make_valid(Run& run, vm::Access wanted);
  Source source_of(const Block& b);
  Task<std::size_t> fetch_run_by_hint(Run& run, std::size_t begin, std::size_t end, Rank writer);
  Task<std::size_t> fetch_run_from_home(Run& run, std::size_t begin, std::size_t end, Rank peer);
  bool accept_from_home(Block b, Rank peer, const RunLook& look, std::size_t i, bool moved);
  void open(const Block& leader, bool leader_was_valid, vm::Access wanted, Run& run);

  // fetch.cpp
  enum class LookResult { accepted, elsewhere, changed, needs_live_data, needs_public_copy };
  Task<> fetch(Block& b);
  Task<> fetch_once(Block& b);
  Task<> fetch_into(Block& b, std::byte* target);
  Task<BlockWords> take_from_home(Block& b, const Lock& lock, std::byte* target);
  Task<bool> fetch_by_hint(Block& b, std::byte* target);
  Task<LookResult> fetch_from(Block& b, Rank peer, std::byte* target, bool live, Rank* next);
  Task<LogicalTime> extend_lease(Block& b, Rank peer, const Look& look);
  Task<> fetch_under_lock(Block& b, std::byte* target);
  Task<> become_home(Block& b, const Lock& lock, std::byte* target);
  static bool needs_data(const Block& b, const BlockWords& home) {
    return home.write_ts != b.entry.write_ts.value || b.entry.bytes_lost;
  }
  static bool is_home(const Block& b, Rank peer, std::uint64_t owner) {
    return remote_lock::OwnerWord{owner}.resolved(peer, b.initial_home).tag() ==
           remote_lock::Ownership::unlocked;
  }
  void note_home(Block& b, Rank peer);
  void accept(Block& b, Version version, const std::byte* data, Giver giver);
  bool expects_change(const Entry& e, Rank peer) const;
  Rank first_place_to_look(const Block& b);
  Rank place_after(const Block& b, Rank asked, Rank linked);

  // first_touch.cpp
  bool looks_untouched(const Block& b);
  Task<> fetch_for_writing(Block& b);

  // release.cpp
  enum class AtHome { done, done_but_watched, not_done };
  AtHome release_at_home(Block& b, bool quiescent);
  Task<> release_one(BlockId id, bool quiescent, TaskGroup& elsewhere);
  Task<> release_elsewhere(BlockId id, bool quiescent);
  Task<> release_stacks(bool quiescent, TaskGroup& elsewhere);
  Task<> publish(Block& b, Modification* modification);
  bool apply(const Block& b, Modification& modification);
  Task<Version> bring_newest(Block& b, Lock& lock);
  enum class PublicCopy { holds_it, none };
  void new_version(Block& b, Version home, bool may_be_silent, PublicCopy copy);
  void store_version(Block& b, Version version, PublicCopy copy = PublicCopy::holds_it);
  void end_critical_section(Block& b);
  void list(BlockId id, Entry& e);

  // unpublished.cpp
  Task<bool> leave_unpublished(Block& b);
  void give_up_public_copy(Block& b);
  bool passes_unread(std::span<const BlockId> listed, std::size_t place);
  void release_unpublished(Block& b, Version version, bool quiescent);
  void pass_live(Block& b);
  void protect_unpublished(Block& b);

  // copies.cpp
  enum class CopyUse : std::uint8_t { needed, needed_and_locked, none_elsewhere, none_at_home };
  void note_copy(const Block& b);
  bool is_look_at_copies_due() const;
  Task<> give_back_copies();
  Task<std::size_t> give_back_run(std::size_t end);
  CopyUse look_at_copy(const Block& b);
  void forget_copy(Block& b, bool at_home);

  // at_once.cpp
  bool all_pass_unread();
  bool stack_is_unchanged(std::size_t range, std::uintptr_t begin, std::uintptr_t end) const;

  // downgrade.cpp
  bool stays_writable(const Block& b, bool changed);
  void protect(Block& b, bool quiescent);
  void after_comparison(Block& b, bool changed, bool quiescent);
  // acquire.cpp
  Task<bool> apply_notice(Notice notice, std::size_t& bytes_ahead);
  Task<> refresh_pinned(SignatureView signature, TaskGroup& fetches);
  bool is_fetched_ahead(const Block& b, std::size_t& bytes_ahead);
  Task<bool> expire(BlockId id, std::size_t& bytes_ahead);
  Task<> refresh(BlockId id);
  Task<> expire_until(LogicalTime time);
  Task<> expire_leases();
  Task<> refresh_stacks();
  Task<bool> redate_at_home(Block& b);
  void invalidate(Block& b);
  void watch_lease(BlockId id, Entry& e);

  const vm::Space& space_;
  fabric::Fabric& fabric_;
  vm::Vm& vm_;
  trace::Counters& counters_;
  const Parameters parameters_;
  BlockStore store_;
  remote_lock::QueueLock locks_;
  Signature signature_;
  Gate release_gate_;
  Gate expire_gate_;
  Quiescence quiescence_;
  ComparisonCost comparison_cost_;
  BlockList dirty_;
  BlockList copies_;  // public copies that are kept here
  LeaseQueue leases_;
  RunBuilder to_close_;      // while quiet: invalid, and closed before the acquire ends
  RunBuilder to_downgrade_;  // while quiet: no longer writable, and read-only before the release ends
  StreamDetector read_streams_;
  StreamDetector write_streams_;
  std::atomic<bool> publish_always_{false};
  std::atomic<bool> ordered_{false};
  AcquiresInOrder acquires_;
  HeldBackStore held_back_{store_, acquires_};
  std::atomic<std::uint32_t> came_open_in_{0};
  FaultHolds holds_;
  StacksInUse stacks_;
  std::atomic<std::uint64_t> acquired_{0};
  std::atomic<std::uint64_t> expired_{0};  // acquired_, once every copy that had to go is gone
  std::atomic<std::uint64_t> clock_{0};
  std::span<BlockId> old_copies_;      // taken from copies_ some releases ago
  std::size_t next_copy_ = 0;          // of them, to be looked at
  std::uint32_t copies_taken_at_ = 0;  // the quiescent release that took them
};

}  // namespace musubi::coherence::migrating
