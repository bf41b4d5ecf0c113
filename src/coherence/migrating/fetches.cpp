#include "coherence/migrating/fetches.h"

#include <array>

#include "base/check.h"
#include "coherence/migrating/visits.h"
#include "coherence/regions.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/looks.h"
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

// Another thread may raise `acquired` meanwhile: either its search for lapsed copies finds this one in the
// queue, or we see its raise here.
Task<> Fetches::fetch(Block& b) {
  do {
    co_await fetch_once(b);
    if (!b.entry.pinned) leases_.watch(b.id, b.entry);
  } while (b.entry.read_ts < ground_.times.acquired());
  MUSUBI_CHECK(!b.entry.bytes_lost, "block %lu: valid without its bytes",
               static_cast<unsigned long>(b.id.value));
}

// Where the program may look at the block, its bytes change in place, and only at the end: the program must
// not see an attempt that fails.
Task<> Fetches::fetch_once(Block& b) {
  const bool in_use = rules::is_valid(b.entry) && !ground_.quiescence;
  if (ground_.may_differ_from_twin(b.entry) || in_use || ground_.store.has_private_parts(b)) {
    BufferPool::Buffer scratch(ground_.store.scratch());
    co_await fetch_into(b, scratch.data());
  } else {
    co_await fetch_into(b, b.own);
  }
}

Task<> Fetches::fetch_into(Block& b, std::byte* target) {
  Entry& e = b.entry;
  if (ground_.names_a_copy(e)) {
    const bool fetched = co_await fetch_by_hint(b, target);
    if (fetched) co_return;
  }
  const bool told = e.hint_write_ts > e.write_ts;
  Rank peer = first_place_to_look(b);
  std::byte* data = told || e.bytes_lost || expects_change(e, peer) ? target : nullptr;
  // Where the home has no public copy: the bytes that its program works on.
  Bytes bytes = (told ? e.hint_live : e.home_was_live) ? Bytes::live : Bytes::public_copy;
  unsigned links = 0;
  for (unsigned attempt = 0;;) {
    if (ground_.is_home(b)) {
      const bool valid = co_await leases_.redate_at_home(b);
      if (valid) co_return;
      peer = ground_.own_word(b).target();  // another rank took the home just now
    }
    if (peer == ground_.self()) peer = ground_.own_word(b).target();
    const Rank asked = peer;
    const LookResult result = co_await fetch_from(b, data, &bytes, &peer);
    if (result == LookResult::accepted) co_return;
    if (result == LookResult::elsewhere && ++links > 1) {
      // A home that is always gone when a look arrives is stopped by its lock.
      if (links > links_max(ground_.parameters)) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      peer = place_after(b, asked, peer);
    }
    if (result == LookResult::needs_other_bytes) data = target;
    if (result == LookResult::changed) {
      if (++attempt > ground_.parameters.read_retries_max) {
        co_await fetch_under_lock(b, target);
        co_return;
      }
      co_await pause(attempt);
    }
  }
}

// Without a newer notice the version here may be the newest. Where peers are far, a look alone takes nearly
// as long as a look with the data. Blocks that do not change are only looked at all the same.
bool Fetches::expects_change(const Entry& e, Rank peer) const {
  return e.changes && !ground_.fabric.capabilities(peer).local_pointer;
}

Rank Fetches::first_place_to_look(const Block& b) const {
  const Entry& e = b.entry;
  if (e.hint_write_ts > e.write_ts) return e.hint_writer;
  if (e.home_known) return e.home_guess;
  const OwnerWord word = ground_.own_word(b);
  return word.tag() == Ownership::link ? word.target() : ground_.self();
}

// One link may be right; more lead over all homes of the past. The initial home knows which is the last.
Rank Fetches::place_after(const Block& b, Rank asked, Rank linked) const {
  if (asked == b.initial_home) return linked;
  if (b.initial_home != ground_.self()) return b.initial_home;
  return remote_lock::TailWord{ground_.shared(b.words.tail).load()}.rank(b.initial_home);
}

Task<bool> Fetches::fetch_by_hint(Block& b, std::byte* target) {
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
  co_await fabric::transfer(ground_.fabric, e.hint_writer, steps);
  if (target == b.own) e.bytes_lost = true;
  if (words.public_ts < e.hint_write_ts.value || ground_.is_given_back(version_before, version_after)) {
    co_return false;
  }
  ground_.count_fetch(b);
  e.home_was_live = false;
  // The version is called by the notice's name even if the bytes are newer. A newer version may be one
  // without leases, which its home changes silently: it must not be taken for the one that we hold.
  arrivals_.accept(b, {e.hint_write_ts, e.hint_read_ts}, target, giver_of(e.hint_writer, words));
  co_return true;
}

Task<> Fetches::look_at(const Block& b, Rank peer, std::byte* target, Bytes bytes, Look& look) {
  const VisitLayout& layout = ground_.visits.layout();
  const bool takes_live = bytes != Bytes::public_copy && target != nullptr;
  std::uint64_t visits_before = 0;
  std::array<Step, 7 + mark_steps> steps;
  std::size_t count = 0;
  const auto get_word = [&](std::size_t member, std::uint64_t* to) {
    steps[count++] = fabric::get(words_region, word_offset(b.id, member), to, sizeof *to);
  };
  if (takes_live) steps[count++] = fabric::get(words_region, layout.epoch(), &look.epoch, sizeof look.epoch);
  get_word(offsetof(BlockWords, version), &look.version_before);
  steps[count++] = fabric::get(words_region, word_offset(b.id, 0), &look.words, sizeof look.words);
  if (target != nullptr) {  // the data between the words and the second look
    steps[count++] =
        fabric::get(takes_live ? private_region : published_region, b.extent.offset, target, b.extent.bytes);
  }
  if (takes_live && bytes == Bytes::live_with_marks) {
    mark(layout, {b.id, 1}, &steps[count], &visits_before);
    count += mark_steps;
    steps[count++] = fabric::get(words_region, layout.epoch(), &look.epoch_after, sizeof look.epoch_after);
  }
  get_word(offsetof(BlockWords, owner), &look.owner_after);
  get_word(offsetof(BlockWords, version), &look.version_after);
  co_await fabric::transfer(ground_.fabric, peer, std::span<const Step>(steps.data(), count));
}

// One look at `*next`: takes the version there if it is the home and nobody is in the critical section;
// `target` null: only if it is the version that is still here. `*bytes`: where they are, as far as is known.
Task<Fetches::LookResult> Fetches::fetch_from(Block& b, std::byte* target, Bytes* bytes, Rank* next) {
  Entry& e = b.entry;
  const Rank peer = *next;
  const bool had_bytes = !e.bytes_lost;
  const bool live = *bytes != Bytes::public_copy;
  Look look{};
  co_await look_at(b, peer, target, *bytes, look);
  if (target == b.own) e.bytes_lost = true;

  const OwnerWord owner = OwnerWord{look.owner_after}.resolved(peer, b.initial_home);
  if (owner.tag() == Ownership::link) {
    const remote_lock::TailWord tail{look.words.tail};
    *next = peer == b.initial_home ? tail.rank(peer) : owner.target();
    co_return LookResult::elsewhere;
  }
  if (owner.tag() != Ownership::unlocked || look.version_before != look.version_after) {
    co_return LookResult::changed;
  }
  const rules::Seen seen = rules::seen_at_home(e, look.words, {target != nullptr, live, had_bytes});
  if (seen == rules::Seen::needs_live_data || seen == rules::Seen::needs_public_copy) {
    // The public copy does not exist, and to look at it would take memory there.
    const bool was_here = e.write_ts != LogicalTime{};
    if (was_here && look.words.write_ts != e.write_ts.value) e.changes = true;
    e.home_was_live = look.words.unpublished();
    *bytes = bytes_to_ask_for(look.words);
    co_return LookResult::needs_other_bytes;
  }
  const bool takes_data = seen == rules::Seen::new_data;
  const LogicalTime write_ts{look.words.write_ts};
  LogicalTime read_ts{look.words.read_ts};
  const bool is_leased = rules::is_leased_until({write_ts, read_ts}, ground_.times.acquired());
  const bool visits = live && target != nullptr && look.words.asleep != 0;
  const bool has_marked = *bytes == Bytes::live_with_marks;
  if (visits && has_marked && look.epoch_after != look.epoch) co_return LookResult::changed;
  const bool is_accounted_for = !visits || has_marked || ground_.injected(InjectedBug::leased_without_mark);
  if (!is_leased || !is_accounted_for) {
    read_ts = co_await extend_lease(b, peer, look, visits);
    if (read_ts == LogicalTime{}) co_return LookResult::changed;
  }
  note_home(b, peer);
  if (takes_data) {
    ground_.count_fetch(b);
  } else {
    ground_.count(Counter::renewals);
  }
  e.bytes_lost = false;  // those of the same version have come
  arrivals_.accept(b, {write_ts, read_ts}, takes_data ? target : nullptr, giver_of(peer, look.words));
  co_return LookResult::accepted;
}

// By words that the home had a moment ago. Marks go along where no lease need be taken after the bytes.
Bytes Fetches::bytes_to_ask_for(const BlockWords& home) const {
  if (!home.unpublished()) return Bytes::public_copy;
  const bool is_leased = rules::is_leased_until({LogicalTime{home.write_ts}, LogicalTime{home.read_ts}},
                                                ground_.times.acquired());
  const bool marks = home.asleep != 0 && is_leased && !ground_.injected(InjectedBug::leased_without_mark) &&
                     !ground_.injected(InjectedBug::reader_without_mark);
  return marks ? Bytes::live_with_marks : Bytes::live;
}

void Fetches::note_home(Block& b, Rank peer) {
  MUSUBI_CHECK(peer != ground_.self());
  b.entry.home_guess = peer;
  b.entry.home_known = true;
  // The chain of links gets shorter; nobody else changes a link of ours.
  if (ground_.own_word(b).tag() == Ownership::link)
    ground_.shared(b.words.owner).store(OwnerWord::link_to(peer).raw);
}

// Raises the home's read timestamp, unless another reader has. `visits`: the block sleeps, and its live bytes
// were taken. It is marked after the lease is there, and before the look that shows whether a release has
// begun. Result: until when the version of `look` may be held, 0 when it has changed.
Task<LogicalTime> Fetches::extend_lease(Block& b, Rank peer, const Look& look, bool visits) {
  std::uint64_t expected = look.words.read_ts;
  const std::uint64_t wanted =
      later(LogicalTime{expected}, rules::wanted_lease(b.entry, LogicalTime{look.words.write_ts},
                                                       ground_.times.acquired(), ground_.parameters))
          .value;
  MUSUBI_CHECK((visits || wanted > expected) && wanted > look.words.write_ts);
  for (;;) {
    std::uint64_t seen = 0, owner = 0, version = 0, epoch = 0, visits_before = 0;
    std::array<Step, 4 + mark_steps> steps;
    std::size_t count = 0;
    steps[count++] = fabric::compare_swap(words_region, word_offset(b.id, offsetof(BlockWords, read_ts)),
                                          &seen, expected, wanted);
    if (visits && !ground_.injected(InjectedBug::reader_without_mark)) {
      mark(ground_.visits.layout(), {b.id, 1}, &steps[count], &visits_before);
      count += mark_steps;
    }
    steps[count++] = fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, owner)), &owner, 8);
    steps[count++] = fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)), &version, 8);
    steps[count++] = fabric::get(words_region, ground_.visits.layout().epoch(), &epoch, 8);
    co_await fabric::transfer(ground_.fabric, peer, std::span<const Step>(steps.data(), count));
    const bool unchanged =
        is_home(b, peer, owner) && version == look.version_before && (!visits || epoch == look.epoch);
    if (!unchanged && !ground_.injected(InjectedBug::lease_not_rechecked)) co_return LogicalTime{};
    if (seen == expected) co_return LogicalTime{wanted};
    if (seen >= wanted) co_return LogicalTime{seen};
    expected = seen;
  }
}

// Progress is guaranteed by the queue of the lock: this rank becomes the home, with the same version.
Task<> Fetches::fetch_under_lock(Block& b, std::byte* target) {
  const Lock taken = co_await takeovers_.lock(b);
  co_await takeovers_.become_home(b, taken, target);
}

}  // namespace musubi::coherence::migrating
