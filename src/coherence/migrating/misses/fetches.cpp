#include "coherence/migrating/misses/fetches.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/leases.h"
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

// Another thread may raise `acquired` in the meantime: either its search for lapsed copies finds this one in
// the queue, or we see its raise here.
Task<> Fetches::fetch(HeldBlock& b) {
  do {
    co_await fetch_once(b);
    if (!b.entry.copy.pinned) leases_.watch(b);
  } while (b.entry.held.read_ts < ground_.times.acquired());
  MUSUBI_CHECK(!b.entry.copy.bytes_lost, "block %lu: valid without its bytes",
               static_cast<unsigned long>(b.id.value));
}

// If the program may look at the block, its bytes change in place, and only at the end: the program must not
// see an attempt that fails. A rank that took the home from here has taken its bytes, too, before bytes of a
// later home can come.
Task<> Fetches::fetch_once(HeldBlock& b) {
  const bool in_use = rules::is_valid(b.entry) && !ground_.is_quiescent();
  if (ground_.may_differ_from_twin(b.entry) || in_use || ground_.store.has_private_parts(b)) {
    BufferPool::Buffer scratch(ground_.store.scratch());
    co_await fetch_into(b, scratch.data());
  } else {
    co_await fetch_into(b, b.own);
  }
}

Task<> Fetches::fetch_into(HeldBlock& b, std::byte* target) {
  Entry& e = b.entry;
  if (ground_.names_a_copy(e)) {
    const bool fetched = co_await fetch_by_hint(b, target);
    if (fetched) co_return;
  }
  Rank peer = first_place_to_look(b);
  unsigned links = 0;
  bool relayed_in_vain = false;
  for (unsigned attempt = 0;;) {
    if (ground_.is_home(b)) {
      const bool valid = co_await leases_.redate_at_home(b);
      if (valid) co_return;
      peer = ground_.own_word(b).target();  // another rank took the home just now
    }
    if (peer == ground_.self()) peer = ground_.own_word(b).target();
    const Rank asked = peer;
    const Outcome result = co_await fetch_from(b, target, &peer, relayed_in_vain);
    if (result == Outcome::accepted) co_return;
    if (result == Outcome::elsewhere) {
      // A home that is always gone when a look arrives is stopped by its lock.
      if (++links > links_max(ground_.parameters)) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      peer = ground_.place_after(b, asked, peer, links);
    }
    relayed_in_vain = result == Outcome::not_at_readers;
    if (result == Outcome::changed || result == Outcome::not_at_readers) {
      if (++attempt > ground_.parameters.read_retries_max) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      co_await pause(attempt);
    }
  }
}

Rank Fetches::first_place_to_look(const HeldBlock& b) const {
  const Entry& e = b.entry;
  if (e.known.newest.write_ts > e.held.write_ts) return e.known.writer();
  if (e.known.home_known) return e.known.home();
  const OwnerWord word = ground_.own_word(b);
  return word.tag() == Ownership::link ? word.target() : ground_.self();
}

// The newest notice named a copy a moment ago; `acquired` may have passed it since (fetch()).
Task<bool> Fetches::fetch_by_hint(HeldBlock& b, std::byte* target) {
  MUSUBI_CHECK(target != b.published);
  Entry& e = b.entry;
  const std::optional<Giver> giver =
      co_await relays_.fetch(b, e.known.newest.write_ts, e.known.writer(), target);
  if (!giver) co_return false;
  ground_.note_home(b, e.known.writer());
  // The version is called by the notice's name even if the bytes are newer. A newer version may be one
  // without leases, which its home changes silently: it must not be taken for the one that we hold.
  arrivals_.accept(b, {e.known.newest.write_ts, e.known.newest.read_ts}, target, *giver);
  co_return true;
}

BytesFrom Fetches::bytes_from(const HeldBlock& b, bool relayed_in_vain) const {
  if (relayed_in_vain || !relays_.is_in_crowd()) return BytesFrom::home;
  return relays_.parent(b.id) ? BytesFrom::reader : BytesFrom::home_or_reader;
}

LookRequest Fetches::request_for(const HeldBlock& b, BytesFrom from, LinesWanted lines) const {
  const Entry& e = b.entry;
  return {b.id.value,
          e.held.write_ts.value,
          ground_.times.acquired().value,
          rules::shortest_lease(ground_.parameters),
          b.initial_home.value,
          e.copy.bytes_lost ? 0u : 1u,
          from,
          0,
          lines};
}

// One look at `*next`, one trip: takes the version there if it is the home and no rank is in the critical
// section.
Task<Fetches::Outcome> Fetches::fetch_from(HeldBlock& b, std::byte* target, Rank* next,
                                           bool relayed_in_vain) {
  MUSUBI_CHECK(target != b.published);
  Entry& e = b.entry;
  const Rank peer = *next;
  using Answer = LinesAnswer<LookResult>;
  const LookRequest request = request_for(b, bytes_from(b, relayed_in_vain), lines_.wanted(b, Answer::room));
  const BufferPool::Buffer room(lines_.answers());
  Answer& answer = *Answer::in(room);
  std::uint64_t owner_after = 0, version_after = 0;
  const auto get_word = [&](std::size_t member, std::uint64_t* to) {
    return fabric::get(words_region, word_offset(b.id, member), to, sizeof *to);
  };
  const auto get_bytes = [&](fabric::RegionId region) {
    return fabric::get(region, b.extent.offset, target, b.extent.bytes);
  };
  std::array<Step, 5> steps{call(look_procedure, request, answer),
                            fabric::if_verdict(looks::in_copy, get_bytes(published_region)),
                            fabric::if_verdict(looks::in_use, get_bytes(private_region)),
                            get_word(offsetof(BlockWords, owner), &owner_after),
                            get_word(offsetof(BlockWords, version), &version_after)};
  co_await fabric::transfer(ground_.fabric, peer, steps);
  const BlockWords& words = answer.result.words;
  const fabric::Verdict verdict = answer.end.verdict;
  const bool takes_data = verdict == looks::in_copy || verdict == looks::in_use;
  if (takes_data && target == b.own) e.copy.bytes_lost = true;

  if (verdict == looks::elsewhere) {
    const remote_lock::TailWord tail{words.tail};
    *next = peer == b.initial_home ? tail.rank(peer)
                                   : OwnerWord{words.owner}.resolved(peer, b.initial_home).target();
    co_return Outcome::elsewhere;
  }
  if (verdict == looks::changing) co_return Outcome::changed;
  const LogicalTime read_ts{answer.result.leased_until};
  const bool unchanged = is_home(b, peer, owner_after) && version_after == words.version;
  const bool extended = read_ts.value != words.read_ts;
  if (!unchanged && !(extended && ground_.injected(InjectedBug::lease_not_rechecked))) {
    co_return Outcome::changed;
  }
  ground_.note_home(b, peer);
  const Version version{LogicalTime{words.write_ts}, read_ts};
  Giver giver = giver_of(peer, words);
  if (verdict == looks::relayed) {
    std::optional<Rank> relay;
    if (answer.result.relay != 0) relay = Rank{static_cast<std::uint32_t>(answer.result.relay - 1)};
    const std::optional<Giver> found = co_await relays_.fetch(b, version.write_ts, peer, target, relay);
    if (!found) co_return Outcome::not_at_readers;
    giver = *found;
  }
  const bool has_moved = verdict != looks::same_version;
  if (takes_data) ground_.count_fetch(b);
  if (verdict == looks::in_lines) lines_.lay(b, target, answer.lines, answer.came());
  if (!has_moved) ground_.count(Counter::renewals);
  e.copy.bytes_lost = false;  // those of the same version have come
  arrivals_.accept(b, version, has_moved ? target : nullptr, giver);
  co_return Outcome::accepted;
}

// Progress is guaranteed by the queue of the lock: this rank becomes the home, with the same version.
Task<> Fetches::fetch_under_lock(HeldBlock& b, std::byte* target) {
  MUSUBI_CHECK(target != b.published);
  const Lock taken = co_await takeovers_.lock(b);
  co_await takeovers_.become_home(b, taken, target);
}

bool Fetches::looks_untouched(const HeldBlock& b) const {
  return rules::looks_untouched(b.entry) && ground_.own_word(b).tag() == Ownership::link;
}

// The first write to a block: the writer becomes its home at once, not at its first release. Nothing moves,
// no twin is made, and the block stays unpublished while no other rank reads it. So the data that a parallel
// loop initialises costs each rank no more than its own memory, whichever rank has allocated it.
Task<> Fetches::fetch_for_writing(HeldBlock& b) {
  if (!ground_.parameters.leave_unpublished || !looks_untouched(b)) {
    co_await fetch(b);
    co_return;
  }
  Lock taken = co_await takeovers_.lock(b);
  co_await takeovers_.learn_words(b, taken);
  if (taken.words.write_ts != 0 || taken.words.read_ts != 0) {  // another rank was here before
    BufferPool::Buffer scratch(ground_.store.scratch());
    co_await takeovers_.become_home(b, taken, scratch.data());
  } else {
    MUSUBI_CHECK(rules::looks_untouched(b.entry));
    ground_.count(Counter::first_touches);
    const LogicalTime now = later(LogicalTime{1}, ground_.times.acquired());
    versions_.store(b, {now, now});
    ground_.times.raise_clock(now);
    // The previous home may have read its zeros: it needs no lease for that.
    const bool live = ground_.may_be_unpublished(b.entry);
    if (!ground_.injected(InjectedBug::notice_forgotten))
      ground_.signature.add({b.id, now, now, ground_.self(), live});
    b.entry.published.equals = true;
    versions_.end_critical_section(b);
    co_await ground_.locks.unlock(b.id.value);
  }
  leases_.watch(b);
  if (b.entry.held.read_ts < ground_.times.acquired()) co_await fetch(b);
}

}  // namespace musubi::coherence::migrating
