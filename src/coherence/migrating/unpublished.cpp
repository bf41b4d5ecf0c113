// Blocks that nobody else reads. Their home keeps no public copy of them and no twin: what is written stays
// where the program wrote it, and a release neither compares nor copies. As soon as another rank takes a
// lease or the lock, it takes the live bytes; the home sees the lease at its next release, and publishes
// again.
//
// Bytes that the home's program writes while they are read may come along. That is harmless for race-free
// programs, as with any version newer than the one asked for. But whoever took the lock may so have published
// changes that the home has not released yet: the home's next release makes a version even if it finds
// nothing changed (Entry::gave_up_copy).
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/prefetch.h"
#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {
namespace {

// Tells whether a block is still being written, by one line of every few. Where that or a collision makes it
// look unchanged, it is closed for writing, no more.
std::uint32_t digest_of(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t line_words = 8;
  constexpr std::size_t stride = 8 * 64;
  std::uint64_t digest = 0;
  for (std::size_t at = 0; at + line_words * 8 <= count; at += stride) {
    std::uint64_t words[line_words];
    std::memcpy(words, bytes + at, sizeof words);
    for (const std::uint64_t word : words) digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  }
  return static_cast<std::uint32_t>(digest >> 32);
}

}  // namespace

// The block is about to be opened for writing. Result: whether it needs no twin, because this rank is its
// home and nobody can hold its version.
Task<bool> Engine::leave_unpublished(Block& b) {
  Entry& e = b.entry;
  if (!parameters_.leave_unpublished || e.pinned) co_return false;
  if (!locks_.try_lock_at_home(b.id.value, b.initial_home)) co_return false;
  Version version = home_version(b);
  others_may_act();
  using rules::FirstWrite;
  const FirstWrite first = rules::first_write_of(version, b.words.unpublished(), e.gave_up_copy,
                                                 may_be_unpublished(e), comparison_cost_.is_high());
  if (first == FirstWrite::leaves_copy) {
    // Timestamp 0 means zeros for good.
    if (version.write_ts == LogicalTime{}) version = {LogicalTime{1}, LogicalTime{1}};
    store_version(b, version, PublicCopy::none);
    raise(clock_, version.write_ts);
    give_up_public_copy(b);
    end_critical_section(b);
  } else if (first == FirstWrite::gets_copy_again) {
    make_twin(b);
    // Live bytes that a reader takes from now on may be newer than this twin.
    if (!injected(InjectedBug::twin_without_version)) end_critical_section(b);
  }
  co_await locks_.unlock(b.id.value);
  co_return first == FirstWrite::leaves_copy || first == FirstWrite::stays_live;
}

// REQUIRES: may_be_unpublished() a moment ago.
void Engine::give_up_public_copy(Block& b) {
  MUSUBI_CHECK(!b.entry.pinned && own_word(b).tag() != remote_lock::Ownership::unlocked);
  shared(b.words.public_ts).store(0);
  others_may_act();
  b.entry.gave_up_copy = true;
  b.entry.published_equals = false;
  b.entry.silent_releases = 0;
  count(Counter::unpublished);
}

// Most of what a release walks over: blocks of which nobody has taken anything. No lock is needed to pass
// them. The version is raised first: a reader whose lease is not seen here sees that, and looks again; who
// has taken the block's lock unseen reads the live bytes after this release. Result: whether that is all, and
// the block stays listed.
bool Engine::passes_unread(std::span<const BlockId> listed, std::size_t place) {
  constexpr std::size_t distance = 8;
  if (place + distance < listed.size()) {
    const BlockId ahead = listed[place + distance];
    prefetch_for_writing(&store_.entry(ahead));
    prefetch_for_writing(&store_.words(ahead));
  }
  const BlockId id = listed[place];
  const std::optional<Gate::Pass> pass = gate(id).try_enter();
  if (!pass) return false;
  Entry& e = store_.entry(id);
  BlockWords& words = store_.words(id);
  if (e.state != State::writable || !may_be_unpublished(e)) return false;
  if (!e.gave_up_copy) return false;
  if (rules::look_at(e, e.idle_releases + 1u, parameters_) != rules::Look::none) return false;
  if (!injected(InjectedBug::version_not_raised)) shared(words.version).fetch_add(1);
  others_may_act();
  const remote_lock::OwnerWord owner{shared(words.owner).load()};
  if (owner.tag() != remote_lock::Ownership::unlocked || shared(words.public_ts).load() != 0) return false;
  if (shared(words.read_ts).load() != words.write_ts || words.write_ts == 0) return false;
  ++e.idle_releases;
  count(Counter::silent_releases);
  return true;
}

// Under the block's lock, at its home.
void Engine::release_unpublished(Block& b, Version version, bool quiescent) {
  Entry& e = b.entry;
  MUSUBI_CHECK(e.state == State::writable && !e.pinned);
  switch (rules::live_release_of(version, quiescent, may_be_unpublished(e), comparison_cost_.is_high())) {
    case rules::LiveRelease::names_live:
      // It was opened since the last release, so it has changed.
      new_version(b, version, false, PublicCopy::none);
      end_critical_section(b);
      count(Counter::served_live);
      e.last_opening = Opening::changed;
      e.idle_releases = 0;
      comparison_cost_.add(b.extent.bytes);  // what it would have cost
      return protect(b, true);
    case rules::LiveRelease::publishes:
      publish_changes(b);
      comparison_cost_.add(b.extent.bytes);
      new_version(b, version, false, PublicCopy::holds_it);
      end_critical_section(b);
      e.idle_releases = 0;
      return list(b.id, e);
    case rules::LiveRelease::passes:
      return pass_live(b);
  }
}

// Nobody reads the block. Whether it changed is not known. Blocks that are written no more must not be looked
// at for ever: two digests, some releases apart, tell; seldom, and less often each time that it has changed.
void Engine::pass_live(Block& b) {
  Entry& e = b.entry;
  count(Counter::silent_releases);
  end_critical_section(b);  // whoever reads it just now must look again
  switch (rules::look_at(e, ++e.idle_releases, parameters_)) {
    case rules::Look::none:
      break;
    case rules::Look::takes_digest:
      e.digest = digest_of(b.own, b.extent.bytes);
      break;
    case rules::Look::compares_digest:
      e.idle_releases = 0;
      if (rules::releases_per_look(e, parameters_) > 1 && e.digest == digest_of(b.own, b.extent.bytes))
        return protect_unpublished(b);
      e.patience = static_cast<std::uint8_t>(std::min<unsigned>(rules::patience_max, e.patience + 1u));
  }
  list(b.id, e);
}

void Engine::protect_unpublished(Block& b) {
  vm_.downgrade({b.id, 1});
  count(Counter::downgrades);
  end_critical_section(b);  // a thread may have written until now, and a reader looked before that
  b.entry.state = State::readable_clean;
  b.entry.published_equals = false;
}

}  // namespace musubi::coherence::migrating
