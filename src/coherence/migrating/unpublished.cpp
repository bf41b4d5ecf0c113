// Blocks that no other rank reads. Their home keeps no public copy and no twin: the bytes stay where the
// program wrote them, and a release neither compares nor copies. As soon as another rank takes a lease or the
// lock, it takes the live bytes. The home sees the lease at its next release, and publishes again.
//
// Bytes that the home's program writes while they are read may come along. That is harmless for race-free
// programs, as with any version newer than the one asked for. But a rank that took the lock may so have
// published changes that the home has not released yet. So the home's next release makes a version even if it
// finds nothing changed (Entry::gave_up_copy).
#include "coherence/migrating/unpublished.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/prefetch.h"

namespace musubi::coherence::migrating {
namespace {

// Tells whether a block is still being written, by one line of every few. A change that these lines or a
// collision hide only closes the block for writing.
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
Task<bool> Unpublished::leave_unpublished(Block& b) {
  Entry& e = b.entry;
  if (!ground_.parameters.leave_unpublished || e.pinned) co_return false;
  if (!ground_.locks.try_lock_at_home(b.id.value, b.initial_home)) co_return false;
  MUSUBI_CHECK(e.state != State::writable && !e.bytes_lost);
  Version version = ground_.home_version(b);
  ground_.others_may_act();
  using rules::FirstWrite;
  const FirstWrite first =
      rules::first_write_of(version, b.words.unpublished(), e.gave_up_copy, ground_.may_be_unpublished(e),
                            ground_.comparison_cost.is_high());
  if (first == FirstWrite::leaves_copy) {
    // Timestamp 0 means zeros for good.
    if (version.write_ts == LogicalTime{}) version = {LogicalTime{1}, LogicalTime{1}};
    versions_.store(b, version, PublicCopy::none);
    ground_.times.raise_clock(version.write_ts);
    versions_.give_up_public_copy(b);
    versions_.end_critical_section(b);
  } else if (first == FirstWrite::gets_copy_again) {
    twins_.make(b);
    // Live bytes that a reader takes from now on may be newer than this twin.
    if (!ground_.injected(InjectedBug::twin_without_version)) versions_.end_critical_section(b);
  }
  co_await ground_.locks.unlock(b.id.value);
  co_return first == FirstWrite::leaves_copy || first == FirstWrite::stays_live;
}

// Most of what a release walks over: blocks of which no rank has taken anything. They pass without a lock.
// The version is raised first. A reader whose lease is not seen here sees the new version, and looks again. A
// rank that has taken the block's lock unseen reads the live bytes after this release. Result: whether that
// is all, and the block stays listed.
bool Unpublished::passes_unread(std::span<const BlockId> listed, std::size_t place) {
  constexpr std::size_t distance = 8;
  if (place + distance < listed.size()) {
    const BlockId ahead = listed[place + distance];
    prefetch_for_writing(&ground_.store.entry(ahead));
    prefetch_for_writing(&ground_.store.words(ahead));
  }
  const BlockId id = listed[place];
  const std::optional<Gate::Pass> pass = ground_.gate(id).try_enter();
  if (!pass) return false;
  Entry& e = ground_.store.entry(id);
  BlockWords& words = ground_.store.words(id);
  if (!rules::may_pass_unread(e, ground_.may_be_unpublished(e), ground_.parameters)) return false;
  if (!ground_.injected(InjectedBug::version_not_raised)) ground_.shared(words.version).fetch_add(1);
  ground_.others_may_act();
  const remote_lock::OwnerWord owner{ground_.shared(words.owner).load()};
  if (owner.tag() != remote_lock::Ownership::unlocked || ground_.shared(words.public_ts).load() != 0)
    return false;
  if (ground_.shared(words.read_ts).load() != words.write_ts || words.write_ts == 0) return false;
  ++e.idle_releases;
  ground_.count(Counter::silent_releases);
  return true;
}

// Under the block's lock, at its home.
void Unpublished::release(Block& b, Version version, bool quiescent) {
  Entry& e = b.entry;
  MUSUBI_CHECK(e.state == State::writable && !e.pinned);
  switch (rules::live_release_of(version, quiescent, ground_.may_be_unpublished(e),
                                 ground_.comparison_cost.is_high())) {
    case rules::LiveRelease::names_live:
      // It was opened since the last release, so it has changed.
      versions_.name(b, version, false, PublicCopy::none);
      versions_.end_critical_section(b);
      ground_.count(Counter::served_live);
      e.last_opening = Opening::changed;
      e.idle_releases = 0;
      ground_.comparison_cost.add(b.extent.bytes);  // what it would have cost
      return downgrades_.protect(b, true);
    case rules::LiveRelease::publishes:
      twins_.publish_changes(b);
      ground_.comparison_cost.add(b.extent.bytes);
      versions_.name(b, version, false, PublicCopy::holds_it);
      versions_.end_critical_section(b);
      e.idle_releases = 0;
      return ground_.list(b.id, e);
    case rules::LiveRelease::passes:
      return pass_live(b);
  }
}

// No rank reads the block. Whether it changed is not known. Blocks that are written no more must not be
// looked at for ever: two digests, some releases apart, tell. They are taken seldom, and less often each time
// that the block has changed.
void Unpublished::pass_live(Block& b) {
  Entry& e = b.entry;
  ground_.count(Counter::silent_releases);
  versions_.end_critical_section(b);  // a rank that reads it at this moment must look again
  switch (rules::look_at(e, ++e.idle_releases, ground_.parameters)) {
    case rules::Look::none:
      break;
    case rules::Look::takes_digest:
      e.digest = digest_of(b.own, b.extent.bytes);
      break;
    case rules::Look::compares_digest:
      e.idle_releases = 0;
      if (rules::releases_per_look(e, ground_.parameters) > 1 && e.digest == digest_of(b.own, b.extent.bytes))
        return protect(b);
      e.patience = static_cast<std::uint8_t>(std::min<unsigned>(rules::patience_max, e.patience + 1u));
  }
  ground_.list(b.id, e);
}

void Unpublished::protect(Block& b) {
  MUSUBI_CHECK(b.entry.state == State::writable);
  ground_.vm.downgrade({b.id, 1});
  ground_.count(Counter::downgrades);
  versions_.end_critical_section(b);  // a thread may have written until now, and a reader looked before that
  b.entry.state = State::readable_clean;
  b.entry.published_equals = false;
}

}  // namespace musubi::coherence::migrating
