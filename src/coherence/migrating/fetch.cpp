// Read misses (coherence.md section 4): by the newest notice, else by following the owner words to the home
// and taking a lease there; the lock only when the home changes again and again.
#include <array>
#include <optional>

#include "coherence/migrating/engine.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

namespace {

// The links of a home that stands still are fewer, where they are shortened on the way.
constexpr unsigned links_max(const Parameters& parameters) {
  return 4 + parameters.read_retries_max;
}

}  // namespace

// Makes the private bytes valid up to `acquired`, and watches over their lease. Another thread may raise
// `acquired` meanwhile: either its search for lapsed copies finds this one in the queue, or we see its raise
// here.
Task<> Engine::fetch(Block& b) {
  do {
    co_await fetch_once(b);
    if (!b.entry.pinned) watch_lease(b.id, b.entry);
  } while (b.entry.read_ts < acquired());
}

// Where the program may look at the block its bytes change in place, and only at the end: an attempt that
// fails must not be seen.
Task<> Engine::fetch_once(Block& b) {
  const bool in_use = rules::is_valid(b.entry) && !quiescence_;
  if (may_differ_from_twin(b.entry) || in_use || store_.has_private_parts(b)) {
    BufferPool::Buffer scratch(store_.scratch());
    co_await fetch_into(b, scratch.data());
  } else {
    co_await fetch_into(b, b.own);
  }
}

Task<> Engine::fetch_into(Block& b, std::byte* target) {
  Entry& e = b.entry;
  if (names_a_copy(e)) {
    const bool fetched = co_await fetch_by_hint(b, target);
    if (fetched) co_return;
  }
  const bool told = e.hint_write_ts > e.write_ts;
  Rank peer = first_place_to_look(b);
  std::byte* data = told || e.bytes_lost || expects_change(e, peer) ? target : nullptr;
  // Where the home has no public copy: the bytes that its program works on.
  bool live = told ? e.hint_live : e.home_was_live;
  unsigned links = 0;
  for (unsigned attempt = 0;;) {
    if (own_word(b).tag() == Ownership::unlocked) {
      const bool valid = co_await redate_at_home(b);
      if (valid) co_return;
      peer = own_word(b).target();  // another rank took the home just now
    }
    if (peer == fabric_.self()) peer = own_word(b).target();
    const Rank asked = peer;
    const LookResult result = co_await fetch_from(b, asked, data, live, &peer);
    if (result == LookResult::accepted) co_return;
    if (result == LookResult::elsewhere && ++links > 1) {
      // A home that is always gone when a look arrives is stopped by its lock.
      if (links > links_max(parameters_)) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      peer = place_after(b, asked, peer);
    }
    if (result == LookResult::needs_live_data || result == LookResult::needs_public_copy) {
      live = result == LookResult::needs_live_data;
      data = target;
    }
    if (result == LookResult::changed) {
      if (++attempt > parameters_.read_retries_max) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      co_await pause(attempt);
    }
  }
}

// Without a newer notice the version that is still here may be the newest. Where peers are far a look alone
// takes nearly as long as one with the data; but blocks that do not change are only looked at.
bool Engine::expects_change(const Entry& e, Rank peer) const {
  return e.changes && !fabric_.capabilities(peer).local_pointer;
}

Rank Engine::first_place_to_look(const Block& b) {
  const Entry& e = b.entry;
  if (e.hint_write_ts > e.write_ts) return e.hint_writer;
  if (e.home_known) return e.home_guess;
  const OwnerWord word = own_word(b);
  return word.tag() == Ownership::link ? word.target() : fabric_.self();
}

// One link may be right; more lead over all homes of the past. The initial home knows which is the last.
Rank Engine::place_after(const Block& b, Rank asked, Rank linked) {
  if (asked == b.initial_home) return linked;
  if (b.initial_home != fabric_.self()) return b.initial_home;
  return remote_lock::TailWord{shared(b.words.tail).load()}.rank(b.initial_home);
}

Task<bool> Engine::fetch_by_hint(Block& b, std::byte* target) {
  Entry& e = b.entry;
  std::uint64_t version_before = 0, version_after = 0;
  BlockWords words{};
  const std::uint64_t version = word_offset(b.id, offsetof(BlockWords, version));
  // The timestamp first: bytes of a newer version may come along, but never older ones than it says.
  const std::size_t word_bytes = sizeof words.public_ts + (e.pinned ? sizeof words.atomic_words : 0);
  static_assert(offsetof(BlockWords, atomic_words) ==
                offsetof(BlockWords, public_ts) + sizeof words.public_ts);
  std::array<Step, 4> steps{fabric::get(words_region, version, &version_before, sizeof version_before),
                            fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, public_ts)),
                                        &words.public_ts, word_bytes),
                            fabric::get(published_region, b.extent.offset, target, b.extent.bytes),
                            fabric::get(words_region, version, &version_after, sizeof version_after)};
  co_await fabric::transfer(fabric_, e.hint_writer, steps);
  if (target == b.own) e.bytes_lost = true;
  if (words.public_ts < e.hint_write_ts.value || is_given_back(version_before, version_after)) {
    co_return false;
  }
  count_fetch(b);
  e.home_was_live = false;
  // The version is called by the notice's name even if the bytes are newer: a newer version may be one
  // without leases, which its home changes silently, and must not be taken for the one that we hold.
  accept(b, {e.hint_write_ts, e.hint_read_ts}, target, giver_of(e.hint_writer, words));
  co_return true;
}

// One look at `peer`: takes the version there if it is the home and nobody is in the critical section;
// `target` null: only if it is the version that is still here.
Task<Engine::LookResult> Engine::fetch_from(Block& b, Rank peer, std::byte* target, bool live, Rank* next) {
  Entry& e = b.entry;
  const bool had_bytes = !e.bytes_lost;
  Look look{};
  std::array<Step, 5> steps{
      fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)), &look.version_before, 8),
      fabric::get(words_region, word_offset(b.id, 0), &look.words, sizeof look.words),
      fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, owner)), &look.owner_after, 8),
      fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)), &look.version_after, 8)};
  std::size_t step_count = 4;
  if (target != nullptr) {  // the data between the words and the second look
    steps[4] = steps[3];
    steps[3] = steps[2];
    steps[2] = fabric::get(live ? private_region : published_region, b.extent.offset, target, b.extent.bytes);
    step_count = 5;
  }
  co_await fabric::transfer(fabric_, peer, std::span<const Step>(steps.data(), step_count));
  if (target == b.own) e.bytes_lost = true;

  const OwnerWord owner = OwnerWord{look.owner_after}.resolved(peer, b.initial_home);
  if (owner.tag() == Ownership::link) {
    const remote_lock::TailWord tail{look.words.tail};
    *next = peer == b.initial_home ? tail.rank(peer) : owner.target();
    co_return LookResult::elsewhere;
  }
  *next = peer;
  if (owner.tag() != Ownership::unlocked || look.version_before != look.version_after) {
    co_return LookResult::changed;
  }
  const bool is_newer = look.words.write_ts != e.write_ts.value || !had_bytes;
  if (target == nullptr ? is_newer : live != look.words.unpublished()) {
    // A look at a public copy that there is not would take memory there.
    const bool was_here = e.write_ts != LogicalTime{};
    if (was_here && look.words.write_ts != e.write_ts.value) e.changes = true;
    e.home_was_live = look.words.unpublished();
    co_return look.words.unpublished() ? LookResult::needs_live_data : LookResult::needs_public_copy;
  }
  // An unpublished version may have other bytes each time that it is taken.
  const bool takes_data = target != nullptr && (is_newer || live);

  const LogicalTime write_ts{look.words.write_ts};
  LogicalTime read_ts{look.words.read_ts};
  if (!rules::is_leased_until({write_ts, read_ts}, acquired())) {
    read_ts = co_await extend_lease(b, peer, look);
    if (read_ts == LogicalTime{}) co_return LookResult::changed;
  }
  note_home(b, peer);
  if (takes_data) {
    count_fetch(b);
  } else {
    count(Counter::renewals);
  }
  e.bytes_lost = false;  // those of the same version have come
  accept(b, {write_ts, read_ts}, takes_data ? target : nullptr, giver_of(peer, look.words));
  co_return LookResult::accepted;
}

void Engine::note_home(Block& b, Rank peer) {
  b.entry.home_guess = peer;
  b.entry.home_known = true;
  // The chain of links gets shorter; nobody else changes a link of ours.
  if (own_word(b).tag() == Ownership::link) shared(b.words.owner).store(OwnerWord::link_to(peer).raw);
}

// Raises the home's read timestamp. Result: until when the version of `look` may be held, 0 when it has
// changed.
Task<LogicalTime> Engine::extend_lease(Block& b, Rank peer, const Look& look) {
  const std::uint64_t wanted =
      rules::wanted_lease(b.entry, LogicalTime{look.words.write_ts}, acquired(), parameters_).value;
  std::uint64_t expected = look.words.read_ts;
  for (;;) {
    std::uint64_t seen = 0, owner = 0, version = 0;
    std::array<Step, 3> steps{
        fabric::compare_swap(words_region, word_offset(b.id, offsetof(BlockWords, read_ts)), &seen, expected,
                             wanted),
        fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, owner)), &owner, 8),
        fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)), &version, 8)};
    co_await fabric::transfer(fabric_, peer, steps);
    const bool unchanged = is_home(b, peer, owner) && version == look.version_before;
    if (!unchanged && !injected(InjectedBug::lease_not_rechecked)) co_return LogicalTime{};
    if (seen == expected) co_return LogicalTime{wanted};
    if (seen >= wanted) co_return LogicalTime{seen};
    expected = seen;
  }
}

// Progress is guaranteed by the queue of the lock: this rank becomes the home, with the same version.
Task<> Engine::fetch_under_lock(Block& b, std::byte* target) {
  const Lock taken = co_await lock(b);
  co_await become_home(b, taken, target);
}

// This rank becomes the home of the version of the rank that had the lock before. Ends the critical section.
Task<> Engine::become_home(Block& b, const Lock& lock, std::byte* target) {
  Entry& e = b.entry;
  MUSUBI_CHECK(lock.previous != fabric_.self(), "block %lu: home without knowing it",
               static_cast<unsigned long>(b.id.value));
  const BlockWords words = co_await take_from_home(b, lock, target);
  if (target == b.own) e.bytes_lost = true;
  count(Counter::home_migrations);
  const Version version = rules::name_taken_version({LogicalTime{words.write_ts}, LogicalTime{words.read_ts}},
                                                    words.unpublished(), acquired(), parameters_);
  accept(b, version, target, giver_of(lock.previous, words));
  if (!rules::is_dirty(e)) {
    publish_changes(b);
    e.published_equals = true;
  }
  store_version(b, version);
  end_critical_section(b);
  co_await locks_.unlock(b.id.value);
}

// Brings what the rank has that had the lock before. Where that is unpublished, its live bytes become our
// base and, by our hand, its public copy: the twin of what its program writes from now on. Bytes that it
// wrote meanwhile differ from that twin, or are in it.
Task<BlockWords> Engine::take_from_home(Block& b, const Lock& lock, std::byte* target) {
  const Rank home = lock.previous;
  BlockWords words = lock.words;
  const bool has_come = lock.knows_words && lock.place == target;
  if (!lock.knows_words || (!words.unpublished() && !has_come)) {
    std::array<Step, 2> steps{fabric::get(words_region, word_offset(b.id, 0), &words, sizeof words),
                              fabric::get(published_region, b.extent.offset, target, b.extent.bytes)};
    const std::span<const Step> all(steps);
    co_await fabric::transfer(fabric_, home, lock.knows_words ? all.last(1) : all);
  }
  if (words.unpublished()) {
    std::array<Step, 3> twin{fabric::get(private_region, b.extent.offset, target, b.extent.bytes),
                             fabric::put(published_region, b.extent.offset, target, b.extent.bytes),
                             fabric::put(words_region, word_offset(b.id, offsetof(BlockWords, public_ts)),
                                         &words.write_ts, sizeof words.write_ts)};
    co_await fabric::transfer(fabric_, home, twin);
  }
  count_fetch(b);
  co_return words;
}

// The version that `data` (null: the private bytes) holds is here now.
void Engine::accept(Block& b, Version version, const std::byte* data, Giver giver) {
  Entry& e = b.entry;
  MUSUBI_CHECK(version.read_ts >= version.write_ts, "block %lu: a version of %lu that ends at %lu",
               static_cast<unsigned long>(b.id.value), static_cast<unsigned long>(version.write_ts.value),
               static_cast<unsigned long>(version.read_ts.value));
  bool twin_is_old = false;
  if (data != nullptr) {
    learn_atomic_words(b, giver.atomic_words);
    if (e.pinned && hold_back(b, data, giver.rank)) {
      shared(b.words.public_ts).store(version.write_ts.value);
    } else if (note_arrival(b); may_differ_from_twin(e)) {
      merge_remote(b, data, Rebase::yes, giver.rank);
      shared(b.words.public_ts).store(version.write_ts.value);
    } else {
      if (data != b.own) store_.copy_from(b, data);
      e.published_equals = false;
      twin_is_old = e.state == State::writable;
    }
    e.bytes_lost = false;
    e.lease_doublings = 0;
  } else {
    // Blocks that are written at every other turn count as ones that change.
    if (e.lease_doublings != 0) e.changes = false;
    if (e.lease_doublings < rules::lease_doublings_max) ++e.lease_doublings;
  }
  e.write_ts = version.write_ts;
  e.read_ts = version.read_ts;
  e.idle_releases = 0;
  if (twin_is_old) make_twin(b);
}

}  // namespace musubi::coherence::migrating
