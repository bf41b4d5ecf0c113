// A rank that is short of memory and has nothing left but homes offers some of them to a rank with room. The
// other rank takes the lock of each, and is the home from then on; then the copy here is one that can go.
//
// The block is brought to rest before: closed to the threads of its rank, their writes released, and its
// public copy given up. So there is one set of bytes, which does not change, and no thread at the old home
// can read it. A version without a lease gets a new name, and still no rank holds it (rules/evictions.h). A
// thread that touches the block in the meantime opens it at its home, and ends the rest under the block's
// lock; a taker that comes after that finds an ordinary home.
#include "coherence/migrating/room/home_migration.h"

#include <optional>

#include "base/check.h"
#include "coherence/rules/evictions.h"
#include "coherence/rules/naming.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {

// The blocks that have stood among the homes for longest.
Task<Offer> HomeMigration::offer(std::span<BlockId> blocks) {
  auto pass = co_await ground_.release_gate.enter();
  Offer offer{};
  copies_given_up_ = 0;
  for (std::size_t looks = ground_.residents.blocks(Residence::home); looks != 0; --looks) {
    if (offer.count == blocks.size()) break;
    const std::optional<BlockId> id = ground_.residents.take(Residence::home);
    if (!id) break;
    const bool rests = co_await bring_to_rest(*id);
    if (rests) blocks[offer.count++] = *id;
  }
  offer.freed_bytes = copies_given_up_;
  co_return offer;
}

// Result: whether the block is at rest at its home here; then it stands in no queue until end_offer().
Task<bool> HomeMigration::bring_to_rest(BlockId id) {
  HeldBlock b = co_await ground_.enter(id);
  Entry& e = b.entry;
  ground_.residents.leave(e, b.extent.bytes);
  co_await release_from_elsewhere(b);
  const bool at_home = co_await ground_.lock_if_home(b);
  if (!at_home) {
    ground_.note_resident(b);  // its copy can go
    co_return false;
  }
  const bool rests = may_rest(b);
  if (rests) let_rest(b, Bytes::stay);
  if (!rests) ground_.residents.add(id, e, b.extent.bytes, Residence::home);
  co_await ground_.locks.unlock(id.value);
  co_return rests;
}

// Under the lock.
void HomeMigration::let_rest(HeldBlock& b, Bytes bytes) {
  MUSUBI_CHECK(ground_.own_word(b).tag() != remote_lock::Ownership::unlocked && !b.entry.copy.pinned);
  Entry& e = b.entry;
  ground_.wake(b);
  if (rules::is_valid(e)) ground_.vm.close({b.id, 1});
  if (bytes == Bytes::become_zeros) {
    (void)ground_.store.memory().pages->throw_out(b.extent.offset, b.extent.bytes);
    ground_.others_may_act();
  }
  const bool has_become_zeros =
      bytes == Bytes::become_zeros && !ground_.injected(InjectedBug::discarded_kept_quiet);
  if (rules::is_dirty(e) || has_become_zeros) release_closed(b);
  e.copy.state = State::invalid_clean;
  copies_given_up_ += give_up_copy(b);
  ground_.let_rest(b);
  versions_.end_critical_section(b);
}

// Changes of a block whose home is elsewhere: this rank becomes its home.
Task<> HomeMigration::release_from_elsewhere(HeldBlock& b) {
  Entry& e = b.entry;
  if (e.copy.pinned || !rules::is_dirty(e) || ground_.is_home(b) || ground_.keeps_order()) co_return;
  if (rules::is_valid(e)) ground_.vm.close({b.id, 1});
  e.copy.state = State::invalid_dirty;
  co_await publications_.publish(b, nullptr);
  e.habits.releases_alone = 0;
  e.copy.state = State::invalid_clean;
}

// Under the lock. Zeros need not move.
bool HomeMigration::may_rest(HeldBlock& b) {
  const Entry& e = b.entry;
  if (e.copy.pinned || e.copy.bytes_lost || ground_.store.has_private_parts(b)) return false;
  if (ground_.shared(b.words.write_ts).load() == 0) return false;
  return !rules::is_dirty(e) || !ground_.keeps_order() || has_nothing_unreleased(b);
}

// While order is kept, nothing may go out that is not released as of one moment. So threads are stopped
// before the comparison. Their writes since the last release stay until the next one.
bool HomeMigration::has_nothing_unreleased(HeldBlock& b) {
  Entry& e = b.entry;
  if (b.words.unpublished() || versions_.must_name_anew(e)) return false;
  if (e.copy.state == State::writable) {
    ground_.vm.downgrade({b.id, 1});
    e.copy.state = State::readable_dirty;
  }
  ground_.count(Counter::comparisons);
  return !twins_.differs(b) || ground_.injected(InjectedBug::home_moved_unreleased);
}

// Under the lock; the block is closed, and its bytes hold still. A release of this block alone.
void HomeMigration::release_closed(HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.bytes_lost && !b.entry.copy.pinned);
  Entry& e = b.entry;
  const Version version = ground_.version_at_home(b);
  if (ground_.injected(InjectedBug::home_change_not_told)) return;
  if (!b.words.unpublished()) {
    ground_.count(Counter::comparisons);
    const bool changed = twins_.publish_changes(b) || versions_.must_name_anew(e);
    if (changed) versions_.name(b, version, true, PublicCopy::holds_it);
    e.published.equals = true;
  } else if (!rules::is_unread(version) || e.published.visited) {
    versions_.name(b, version, false, PublicCopy::none);
  } else {
    ground_.count(Counter::silent_releases);
  }
}

// From now on readers take the live bytes. Result: the bytes that are free now.
std::size_t HomeMigration::give_up_copy(HeldBlock& b) {
  MUSUBI_CHECK(b.entry.copy.state == State::invalid_clean);
  Entry& e = b.entry;
  if (!b.words.unpublished()) {
    if (!rules::may_rest_unpublished(e, ground_.parameters)) return 0;
    versions_.give_up_public_copy(b);
  } else if (!rules::copy_takes_memory(e) || !e.published.given_up) {
    return 0;
  }
  ground_.shared(b.words.version).fetch_add(one_copy_given_back);
  ground_.others_may_act();
  if (!ground_.store.memory().pages->give_back(b.extent.offset, b.extent.bytes)) return 0;
  e.published.memory_gone = true;
  e.published.equals = false;
  ground_.count(Counter::given_back_bytes, b.extent.bytes);
  return b.extent.bytes;
}

// The rank that took them has done so, or has not. Result: the bytes that are free now.
Task<std::size_t> HomeMigration::end_offer(std::span<const BlockId> blocks) {
  auto pass = co_await ground_.release_gate.enter();
  std::size_t freed = 0;
  for (const BlockId id : blocks) {
    HeldBlock b = co_await ground_.enter(id);
    if (ground_.is_home(b)) {
      ground_.residents.add(id, b.entry, b.extent.bytes, Residence::home);
      continue;
    }
    ground_.count(Counter::homes_moved_away);
    const bool gone = b.entry.queues.residence == Residence::none && co_await evictions_.evict_if_unused(b);
    if (gone) freed += b.extent.bytes;
    if (!gone) ground_.note_resident(b);
  }
  co_return freed;
}

// `bytes`: of room here.
Task<std::size_t> HomeMigration::take_over(std::span<const BlockId> blocks, std::size_t bytes) {
  auto pass = co_await ground_.release_gate.enter();
  std::size_t taken_bytes = 0;
  for (const BlockId id : blocks) {
    HeldBlock b = co_await ground_.enter(id);
    if (taken_bytes + b.extent.bytes > bytes) break;
    const bool taken = co_await take_over_one(b);
    if (taken) taken_bytes += b.extent.bytes;
  }
  co_return taken_bytes;
}

// This rank becomes the home of a block that rests at the one before; its bytes hold still here, too. Result:
// whether it does.
Task<bool> HomeMigration::take_over_one(HeldBlock& b) {
  Entry& e = b.entry;
  const bool is_in_use = e.copy.pinned || rules::is_dirty(e) || ground_.store.has_private_parts(b);
  if (is_in_use || ground_.is_home(b)) co_return false;
  if (rules::is_valid(e)) {
    ground_.vm.close({b.id, 1});
    e.copy.state = State::invalid_clean;
  }
  Lock taken = co_await takeovers_.lock(b);
  co_await takeovers_.learn_words(b, taken);
  ground_.count(Counter::home_migrations);
  const BlockWords words = co_await takeovers_.take_from_home(b, taken, b.own);
  Version version{LogicalTime{words.write_ts}, LogicalTime{words.read_ts}};
  if (words.rests()) {
    if (ground_.injected(InjectedBug::home_moved_unread)) version.read_ts = version.write_ts;
    version = rules::name_moved_version(version);
  } else {
    version =
        rules::name_taken_version(version, words.unpublished(), ground_.times.acquired(), ground_.parameters);
  }
  ground_.times.raise_clock(version.write_ts);
  e.copy.bytes_lost = true;  // until they are accepted
  arrivals_.accept(b, version, b.own, giver_of(taken.previous, words));
  const bool stays_live =
      rules::may_rest_unpublished(e, ground_.parameters) && version.write_ts != LogicalTime{};
  if (!stays_live) {
    twins_.publish_changes(b);
    e.published.equals = true;
  }
  versions_.store(b, version, stays_live ? PublicCopy::none : PublicCopy::holds_it);
  e.published.given_up = stays_live;
  if (rules::is_unread(version)) e.named = rules::named_elsewhere;
  ground_.let_rest(b);
  if (ground_.injected(InjectedBug::home_shown_before_acquired)) {
    e.came_in = 0;
    e.copy.rested = false;
  }
  versions_.end_critical_section(b);
  co_await ground_.locks.unlock(b.id.value);
  co_return true;
}

Task<bool> HomeMigration::discard(BlockId first, std::uint64_t count) {
  if (ground_.store.memory().pages == nullptr) co_return false;
  auto pass = co_await ground_.release_gate.enter();
  bool all = true;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool gone = co_await discard_one(BlockId{first.value + i});
    all = all && gone;
  }
  co_return all;
}

// At its home: a change that makes the block zeros, released alone, as a block is that comes to rest. While
// order is kept nothing may be released alone.
Task<bool> HomeMigration::discard_one(BlockId id) {
  HeldBlock b = co_await ground_.enter(id);
  if (ground_.keeps_order()) co_return false;
  const bool at_home = co_await ground_.lock_if_home(b);
  if (!at_home) {
    co_await discard_copy(b);
    co_return false;
  }
  const bool rests = may_rest(b);
  if (rests) let_rest(b, Bytes::become_zeros);
  co_await ground_.locks.unlock(id.value);
  if (rests) ground_.count(Counter::discarded_bytes, b.extent.bytes);
  co_return rests;
}

// It stays in the queue where it stands: the task that takes it out finds nothing to throw out.
Task<> HomeMigration::discard_copy(HeldBlock& b) {
  Entry& e = b.entry;
  if (rules::fate_of(e, false) == rules::Fate::stays || ground_.store.has_private_parts(b)) co_return;
  if (rules::is_valid(e)) ground_.vm.close({b.id, 1});
  e.copy.state = State::invalid_clean;
  arrivals_.note_arrival(b);
  (void)co_await evictions_.evict_if_unused(b);
}

}  // namespace musubi::coherence::migrating
