// The lock of the block keeps all other ranks away for the few steps of an operation. The word changes in up
// to four places at once: where the home's program sees it, in the home's public copy if there is one, and in
// the private bytes and the twin of the rank that operates. So neither side takes it for a change of its own
// later.
//
// No notice is needed while no rank holds a copy of the version and this rank has announced that version: all
// copies are older, and end when that notice is acquired. Otherwise the version gets a new time, or, if no
// rank holds it, this rank announces it too.
#include "coherence/migrating/atomics/home_atomics.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/states.h"
#include "coherence/rules/writers.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

namespace {

constexpr std::size_t bytes_max = 16;

}  // namespace

Task<bool> HomeAtomics::modify(HeldBlock& b, Modification& modification) {
  MUSUBI_CHECK(modification.bytes != 0);
  if (!may_be_modified(b, modification)) co_return false;
  Rank home = ground_.is_home(b) ? ground_.self() : ground_.own_word(b).target();
  unsigned links = 0;
  for (unsigned look = 0; look < rules::visit_looks_max && links <= rules::visit_links_max; ++look) {
    Outcome outcome = Outcome::refused;
    const Rank asked = home;
    if (home == ground_.self()) {
      outcome = co_await modify_here(b, modification);
      if (outcome == Outcome::elsewhere) home = ground_.own_word(b).target();
    } else {
      outcome = co_await modify_at(&home, b, modification);
    }
    if (outcome == Outcome::refused) co_return false;
    if (outcome == Outcome::done) {
      ground_.count(Counter::home_atomics);
      co_return true;
    }
    if (outcome == Outcome::elsewhere) home = ground_.place_after(b, asked, home, ++links);
    if (outcome == Outcome::busy) co_await pause(look);
  }
  co_return false;
}

// While order is kept, blocks with bytes of each rank's own do not come to rest at their homes: they move.
bool HomeAtomics::may_be_modified(const HeldBlock& b, const Modification& modification) const {
  const Entry& e = b.entry;
  const bool must_stay_hidden = e.copy.pinned && ground_.hides_updates();
  const bool never_rests = ground_.keeps_order() && ground_.store.has_private_parts(b);
  return modification.bytes <= bytes_max && !e.copy.held_back && !e.copy.bytes_lost && !must_stay_hidden &&
         !never_rests && !ground_.store.is_private(b.extent.offset + modification.offset, modification.bytes);
}

Task<HomeAtomics::Outcome> HomeAtomics::modify_here(HeldBlock& b, Modification& modification) {
  if (!ground_.locks.try_lock_at_home(b.id.value, b.initial_home)) {
    co_return ground_.is_home(b) ? Outcome::busy : Outcome::elsewhere;
  }
  const bool may = may_modify_here(b);
  if (may) change_here(b, modification);
  ground_.others_may_act();
  if (!ground_.locks.unlock_unwatched(b.id.value)) co_await ground_.locks.unlock(b.id.value);
  co_return may ? Outcome::done : Outcome::refused;
}

// Under the lock.
bool HomeAtomics::may_modify_here(const HeldBlock& b) const {
  const std::uint64_t write_ts = ground_.shared(b.words.write_ts).load();
  const LogicalTime public_ts = ground_.public_ts(b);
  return write_ts != 0 && (public_ts == LogicalTime{write_ts} || public_ts == LogicalTime{});
}

// Under the lock.
void HomeAtomics::change_here(HeldBlock& b, Modification& modification) {
  MUSUBI_CHECK(modification.bytes <= bytes_max && modification.offset + modification.bytes <= b.extent.bytes);
  const std::size_t at = modification.offset, bytes = modification.bytes;
  std::byte* const word = b.own + at;
  std::array<std::byte, bytes_max> before;
  std::memcpy(before.data(), word, bytes);
  ground_.learn_atomic_words(b.words, rules::atomic_words_of(at, bytes));
  modification.takes_writes_along = false;
  modification.apply(b.own);
  if (std::memcmp(before.data(), word, bytes) == 0) return;
  ground_.others_may_act();
  if (ground_.has_public_copy(b)) std::memcpy(b.published + at, word, bytes);
  ground_.others_may_act();
  name_here(b, modification);
}

// The word has changed. A reader that overlaps this looks again, whether or not there is a new time.
void HomeAtomics::name_here(HeldBlock& b, const Modification& modification) {
  BlockWords& words = b.words;
  Version version{LogicalTime{ground_.shared(words.write_ts).load()},
                  LogicalTime{ground_.shared(words.read_ts).load()}};
  const Version found = version;
  const bool notes_lines = lines_.are_worth_noting(b, found);
  const PublicCopy copy = ground_.has_public_copy(b) ? PublicCopy::holds_it : PublicCopy::none;
  const bool is_unread = rules::is_unread(version) || ground_.injected(InjectedBug::atomic_after_lease);
  if (!is_unread) {
    version = {version.read_ts + 1, version.read_ts + 1};
    versions_.store_words(words, version, copy);
  }
  if (!is_unread || rules::name_of_version(version.write_ts) != b.entry.named) {
    versions_.tell_of(b, version, ground_.self(), copy);
    b.entry.published.visited = false;
  }
  b.entry.held.write_ts = version.write_ts;
  b.entry.held.read_ts = version.read_ts;
  if (notes_lines) {
    LineMask lines;
    const std::size_t at = modification.offset;
    lines.set_bytes(at, at + modification.bytes, b.extent.bytes);
    lines_.note(b, found, lines);
  }
  versions_.end_critical_section(b);
}

Task<HomeAtomics::Outcome> HomeAtomics::modify_at(Rank* home, HeldBlock& b, Modification& modification) {
  if (modification.operation == nullptr || has_plain_changes(b, modification)) co_return Outcome::refused;
  const AtomicOperation& operation = *modification.operation;
  OperationRequest request{};
  request.block = b.id.value;
  request.offset = b.extent.offset;
  std::memcpy(request.operand, &operation.operand, sizeof request.operand);
  std::memcpy(request.compare, &operation.compare, sizeof request.compare);
  request.witness = modification.witness;
  request.initial_home = b.initial_home.value;
  request.place = static_cast<std::uint32_t>(modification.offset);
  request.kind = operation.kind;
  request.bytes = operation.bytes;
  request.in_order = ground_.keeps_order() ? 1 : 0;
  request.orders_nothing = modification.orders_nothing ? 1 : 0;
  fabric::Answer<OperationResult> answer{};
  const std::array<fabric::Step, 1> step{fabric::call(operation_procedure, request, answer)};
  co_await fabric::transfer(ground_.fabric, *home, step);
  switch (answer.end.verdict) {
    case changes_at_home::done:
      take_result(b, *home, answer.result, modification);
      co_return Outcome::done;
    case changes_at_home::elsewhere:
      *home = Rank{answer.result.home};
      co_return Outcome::elsewhere;
    case changes_at_home::busy:
      co_return Outcome::busy;
    default:
      co_return Outcome::refused;
  }
}

// Whether plain stores of this rank to the word have not been released: then they must go out first.
bool HomeAtomics::has_plain_changes(const HeldBlock& b, const Modification& modification) const {
  return rules::is_dirty(b.entry) &&
         std::memcmp(b.own + modification.offset, b.published + modification.offset, modification.bytes) != 0;
}

// The notice names the home, which has all changes; this rank must hear of it, too, as other ranks may have
// changed the same version since.
void HomeAtomics::take_result(HeldBlock& b, Rank home, const OperationResult& result,
                              Modification& modification) {
  const Entry& e = b.entry;
  ground_.note_home(b, home);
  ground_.learn_atomic_words(b.words, rules::atomic_words_of(modification.offset, modification.bytes));
  modification.takes_writes_along = false;
  AtomicValue old = 0;
  std::memcpy(&old, result.old, sizeof old);
  modification.found(old);
  if (result.changed == 0) return;
  if (e.held.write_ts != LogicalTime{})
    change_own(b, modification, musubi::apply(*modification.operation, old));
  if (result.is_named != 0 || rules::name_of_version(result.version.write_ts) != e.named)
    versions_.tell_of(b, result.version, home, result.is_live != 0 ? PublicCopy::none : PublicCopy::holds_it);
}

// In order, other threads of this rank must not see the value found by the operation before an acquire, also
// if the operation orders nothing: the value may come from one that does.
void HomeAtomics::change_own(HeldBlock& b, const Modification& modification, AtomicValue next) {
  MUSUBI_CHECK(modification.bytes <= bytes_max && modification.offset + modification.bytes <= b.extent.bytes);
  const Entry& e = b.entry;
  if (ground_.keeps_order() && !ground_.injected(InjectedBug::atomic_shown_to_siblings)) {
    if (rules::is_valid(e) && !ground_.may_change_in_place(e)) leases_.end_copy(b);
    arrivals_.note_arrival(b);
  }
  const bool has_twin = rules::is_dirty(e) || e.published.equals;
  std::memcpy(b.own + modification.offset, &next, modification.bytes);
  if (has_twin && !ground_.injected(InjectedBug::atomic_leaves_twin))
    std::memcpy(b.published + modification.offset, &next, modification.bytes);
}

}  // namespace musubi::coherence::migrating
