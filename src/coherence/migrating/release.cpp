// Releases (coherence.md section 3): what changed becomes a new version, with this rank as its home.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "coherence/migrating/engine.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;

void Engine::list(BlockId id, Entry& e) {
  if (e.listed) return;
  e.listed = true;
  dirty_.add(id);
}

Task<> Engine::release(bool quiescent) {
  auto pass = co_await release_gate_.enter();
  if (quiescent) quiescence_.begin_barrier();
  comparison_cost_.begin_release();
  TaskGroup elsewhere(parameters_.release_window);
  const std::span<BlockId> listed = dirty_.take();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const BlockId id = listed[i];
    if (passes_unread(listed, i)) {
      listed[kept++] = id;
    } else {
      co_await release_one(id, quiescent, elsewhere);
    }
  }
  dirty_.add_again(listed.first(kept));
  co_await release_stacks(quiescent, elsewhere);
  co_await elsewhere.drain();
  if (quiescent) to_downgrade_.take_runs([this](vm::BlockRun run) { vm_.downgrade(run); });
  if (quiescent && is_look_at_copies_due()) co_await give_back_copies();
}

// Not whole blocks: a thread that waits by flushing again and again changes only what lies below. Under the
// gate: what another thread of this rank is publishing has been released only when it has its name.
Task<> Engine::release_stacks(bool quiescent, TaskGroup& elsewhere) {
  const std::size_t end = stacks_.end();
  for (std::size_t i = 0; i < end; ++i) {
    const vm::BlockRun live = stack_blocks(i);
    for (std::uint64_t k = 0; k < live.count; ++k) {
      const BlockId id{live.first.value + k};
      const vm::Extent extent = space_.extent(id);
      std::optional<Gate::Pass> pass;
      if (!injected(InjectedBug::stack_without_gate)) {
        auto entered = co_await gate(id).enter();
        pass.emplace(std::move(entered));
      }
      const bool unchanged = stack_is_unchanged(i, extent.address, extent.address + extent.bytes);
      pass.reset();
      if (!unchanged) co_await release_one(id, quiescent, elsewhere);
    }
  }
}

// Blocks whose home is here, and unchanged ones, are done on the spot; the others become tasks of their own,
// so that their latencies overlap.
Task<> Engine::release_one(BlockId id, bool quiescent, TaskGroup& elsewhere) {
  AtHome result;
  {
    auto pass = co_await gate(id).enter();
    Block b = block(id);
    result = release_at_home(b, quiescent);
    if (result == AtHome::done_but_watched) co_await locks_.unlock(id.value);
  }
  if (result == AtHome::not_done) co_await elsewhere.admit(release_elsewhere(id, quiescent));
}

Engine::AtHome Engine::release_at_home(Block& b, bool quiescent) {
  Entry& e = b.entry;
  e.listed = false;
  if (!rules::is_dirty(e)) return AtHome::done;
  if (!locks_.try_lock_at_home(b.id.value, b.initial_home)) {
    // Without a public copy there is no twin yet: whoever has the lock is about to make it.
    if (must_name_anew(e)) return AtHome::not_done;
    count(Counter::comparisons);
    if (differs_from_twin(b)) return AtHome::not_done;
    after_comparison(b, false, quiescent);
    return AtHome::done;
  }
  const Version version = home_version(b);
  others_may_act();
  if (b.words.unpublished() && e.state == State::writable) {
    release_unpublished(b, version, quiescent);
    return locks_.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
  }
  count(Counter::comparisons);
  // One pass over memory: compare and copy. Readers of the public copy meanwhile see the lock or the old
  // timestamp.
  const bool changed = publish_changes(b) || must_name_anew(e);
  if (changed) {
    using rules::AfterPublishing;
    const AfterPublishing after =
        rules::after_publishing(e, quiescent, may_be_unpublished(e), comparison_cost_.is_high());
    const bool now = after == AfterPublishing::gives_up_now;
    new_version(b, version, true, now ? PublicCopy::none : PublicCopy::holds_it);
    const bool soon = after == AfterPublishing::gives_up_if_silent &&
                      e.silent_releases >= rules::silent_releases_to_give_up;
    if (now || soon) give_up_public_copy(b);
    end_critical_section(b);
  }
  after_comparison(b, changed, quiescent);
  return locks_.unlock_unwatched(b.id.value) ? AtHome::done : AtHome::done_but_watched;
}

Task<> Engine::release_elsewhere(BlockId id, bool quiescent) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  if (!rules::is_dirty(b.entry)) co_return;
  co_await publish(b, nullptr);
  after_comparison(b, true, quiescent);
}

Task<> Engine::modify(BlockId id, Modification& modification) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  count(Counter::atomics);
  modification.takes_writes_along = rules::is_dirty(b.entry);
  co_await publish(b, &modification);
}

Task<> Engine::publish(Block& b, Modification* modification) {
  // Where a notice has told of a newer version its bytes are needed in any case.
  const bool needs_data = !rules::may_be_newest(b.entry) && !b.entry.hint_live;
  std::optional<BufferPool::Buffer> place;
  if (needs_data && own_word(b).tag() == remote_lock::Ownership::link) place.emplace(store_.scratch());
  Lock taken = co_await lock(b, place ? place->data() : nullptr);
  const Version home = co_await bring_newest(b, taken);
  if (modification != nullptr && b.entry.held_back) show_for(b, *modification);
  const bool was_here = taken.previous == fabric_.self();
  // Where the newest bytes have just been merged into the twin, it does not tell any more what was changed.
  const bool twin_tells = was_here || b.entry.held_back;
  bool changes = modification == nullptr || (modification->takes_writes_along && !twin_tells);
  if (modification != nullptr) changes = apply(b, *modification) || changes;
  changes = (publish_changes(b) && twin_tells) || changes;
  note_copy(b);
  b.entry.published_equals = true;
  if (changes || must_name_anew(b.entry) || (!was_here && taken.words.unpublished())) {
    new_version(b, home, was_here, PublicCopy::holds_it);
  } else if (!was_here) {
    store_version(b, {home.write_ts, rules::lease_beside_home(home, acquired(), parameters_)});
  }
  end_critical_section(b);
  co_await locks_.unlock(b.id.value);
}

// Result: whether the bytes are others now. Threads that look for a word to change by atomic operations make
// no versions, which others would have to fetch.
bool Engine::apply(const Block& b, Modification& modification) {
  learn_atomic_words(b, atomic_words_of(modification));
  std::array<std::byte, 64> before;
  const bool is_small = modification.bytes <= before.size();
  if (is_small) std::memcpy(before.data(), b.own + modification.offset, modification.bytes);
  modification.apply(b.own);
  return !is_small || std::memcmp(before.data(), b.own + modification.offset, modification.bytes) != 0;
}

// Makes private bytes and twin those of the newest version plus this rank's changes. Result: that version.
Task<Version> Engine::bring_newest(Block& b, Lock& lock) {
  Entry& e = b.entry;
  if (lock.previous == fabric_.self()) {
    co_return home_version(b);
  }
  count(Counter::home_migrations);
  if (rules::may_be_newest(e)) {
    co_await learn_words(b, lock);
    learn_atomic_words(b, lock.words.atomic_words);
    // Our twin came from the version that the previous home still has: no data need move.
    if (lock.words.write_ts == e.write_ts.value && !lock.words.unpublished()) {
      co_return Version{LogicalTime{lock.words.write_ts}, LogicalTime{lock.words.read_ts}};
    }
  }
  std::optional<BufferPool::Buffer> scratch;
  if (lock.place == nullptr) scratch.emplace(store_.scratch());
  std::byte* remote = scratch ? scratch->data() : lock.place;
  lock.words = co_await take_from_home(b, lock, remote);
  const BlockWords& words = lock.words;
  if (rules::is_valid(e) && !may_change_in_place(e)) invalidate(b);
  const Giver giver = giver_of(lock.previous, words);
  learn_atomic_words(b, giver.atomic_words);
  if (e.pinned && hold_back(b, remote, giver.rank)) {
    // The changes of this rank go into it next.
  } else if (note_arrival(b); rules::is_dirty(e)) {
    merge_remote(b, remote, Rebase::no, giver.rank);
  } else {
    store_.copy_from(b, remote);
  }
  e.bytes_lost = false;
  co_return Version{LogicalTime{words.write_ts}, LogicalTime{words.read_ts}};
}

// The block has new bytes: names them. Silent: no copy of the last version can be held by anybody, so
// nobody need be told, and its timestamps may stay.
void Engine::new_version(Block& b, Version home, bool may_be_silent, PublicCopy copy) {
  Entry& e = b.entry;
  const rules::Naming naming = rules::name_version(e, home, may_be_silent, parameters_);
  const Version next = naming.version;
  e.leased_releases = naming.leased_releases;
  store_version(b, next, copy);
  raise(clock_, next.write_ts);
  count(naming.is_silent ? Counter::silent_releases : Counter::releases);
  e.gave_up_copy = copy == PublicCopy::none;
  e.silent_releases =
      naming.is_silent ? static_cast<std::uint8_t>(e.silent_releases % 8 + 1) : std::uint8_t{0};
  if (!naming.is_silent && !injected(InjectedBug::notice_forgotten)) {
    signature_.add(Notice{b.id, next.write_ts, next.read_ts, fabric_.self(), e.gave_up_copy});
  }
}

// This rank is the home of `version`; the public copy holds its bytes, or there is none.
void Engine::store_version(Block& b, Version version, PublicCopy copy) {
  Entry& e = b.entry;
  MUSUBI_CHECK(version.read_ts >= version.write_ts && version.write_ts.value >= b.words.write_ts,
               "block %lu: version %lu..%lu after %lu", static_cast<unsigned long>(b.id.value),
               static_cast<unsigned long>(version.write_ts.value),
               static_cast<unsigned long>(version.read_ts.value),
               static_cast<unsigned long>(b.words.write_ts));
  shared(b.words.write_ts).store(version.write_ts.value);
  others_may_act();
  shared(b.words.read_ts).store(version.read_ts.value);
  others_may_act();
  shared(b.words.public_ts).store(copy == PublicCopy::holds_it ? version.write_ts.value : 0);
  e.write_ts = version.write_ts;
  e.read_ts = version.read_ts;
  e.home_guess = fabric_.self();
  e.home_known = true;
}

// Before the unlock: readers that overlapped this critical section must see that it was.
void Engine::end_critical_section(Block& b) {
  others_may_act();
  if (!injected(InjectedBug::version_not_raised)) shared(b.words.version).fetch_add(1);
}

}  // namespace musubi::coherence::migrating
