#include "coherence/migrating/releases/publications.h"

#include <array>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/naming.h"

namespace musubi::coherence::migrating {
Task<> Publications::publish(HeldBlock& b, Modification* modification) {
  // If a notice has named a newer version its bytes are needed in any case.
  const bool needs_data = !rules::may_be_newest(b.entry) && !b.entry.known.live;
  std::optional<BufferPool::Buffer> place;
  if (needs_data && ground_.own_word(b).tag() == remote_lock::Ownership::link)
    place.emplace(ground_.store.scratch());
  Lock taken = co_await takeovers_.lock(b, place ? place->data() : nullptr);
  // Before the bytes are copied: later writes are for the next release.
  if (!ground_.injected(InjectedBug::not_woken)) ground_.wake(b);
  const Version home = co_await takeovers_.bring_newest(b, taken);
  MUSUBI_CHECK(home.read_ts >= home.write_ts && !b.entry.copy.bytes_lost,
               "block %lu: the newest version is not here", static_cast<unsigned long>(b.id.value));
  if (modification != nullptr && b.entry.copy.held_back) arrivals_.show_for(b, *modification);
  const bool was_here = taken.previous == ground_.self();
  // If the newest bytes have just been merged into the twin, the twin no longer tells the changes.
  const bool twin_tells = was_here || b.entry.copy.held_back;
  bool changes = modification == nullptr || (modification->takes_writes_along && !twin_tells);
  if (modification != nullptr) changes = apply(b, *modification) || changes;
  LineMask lines;
  // The bytes received are the twin now, together with the changes of this rank, even under an old name.
  const bool copy_is_of_home = !taken.has_brought || ground_.injected(InjectedBug::taken_bytes_noted);
  const bool notes_lines = copy_is_of_home && lines_.are_worth_noting(b, home);
  const bool differs = twins_.publish_changes(b, notes_lines ? &lines : nullptr);
  changes = (differs && twin_tells) || changes;
  twins_.note_copy(b);
  b.entry.published.equals = true;
  changes = changes || versions_.must_name_anew(b.entry);
  switch (rules::name_under_lock(changes, was_here, taken.words.unpublished())) {
    case rules::NameUnderLock::as_it_was:
      break;
    case rules::NameUnderLock::of_home_before:
      versions_.store(
          b, {home.write_ts, rules::lease_beside_home(home, ground_.times.acquired(), ground_.parameters)});
      break;
    case rules::NameUnderLock::anew:
      versions_.name(b, home, was_here, PublicCopy::holds_it);
  }
  if (notes_lines) lines_.note(b, home, lines);
  if (modification != nullptr) let_rest(b, !was_here);
  // After the unlocking a visitor may name the next version at once.
  MUSUBI_CHECK(b.entry.held.write_ts.value == b.words.write_ts && !b.entry.copy.bytes_lost);
  versions_.end_critical_section(b);
  co_await ground_.locks.unlock(b.id.value);
}

// Result: whether the bytes are different now. Threads that look for a change by atomic operations make no
// versions: other ranks would have to fetch these.
bool Publications::apply(const HeldBlock& b, Modification& modification) {
  ground_.learn_atomic_words(b.words, rules::atomic_words_of(modification.offset, modification.bytes));
  std::array<std::byte, 64> before;
  const bool is_small = modification.bytes <= before.size();
  MUSUBI_CHECK(!is_small || modification.offset + modification.bytes <= b.extent.bytes);
  if (is_small) std::memcpy(before.data(), b.own + modification.offset, modification.bytes);
  modification.apply(b.own);
  return !is_small || std::memcmp(before.data(), b.own + modification.offset, modification.bytes) != 0;
}

// While order is kept, other ranks operate here only on bytes that no thread of this rank can see: on a block
// that is closed. Under its lock, with all of its bytes published.
void Publications::let_rest(HeldBlock& b, bool has_come) {
  Entry& e = b.entry;
  if (!ground_.keeps_order() || e.copy.pinned || ground_.store.has_private_parts(b)) return;
  if (rules::is_valid(e)) {
    if (!has_come || !ground_.is_quiescent()) return;
    if (e.habits.rests_left_out != 0) {
      --e.habits.rests_left_out;
      return;
    }
    ground_.vm.close({b.id, 1});
  }
  e.copy.state = State::invalid_clean;
  ground_.let_rest(b);
}

Task<> Publications::modify(BlockId id, Modification& modification) {
  HeldBlock b = co_await ground_.enter(id);
  ground_.count(Counter::atomics);
  const bool is_done = co_await home_atomics_.modify(b, modification);
  if (is_done) co_return;
  modification.takes_writes_along = rules::is_dirty(b.entry);
  co_await publish(b, &modification);
}

void Publications::adopt(BlockId first, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    std::optional<HeldBlock> held = ground_.try_enter(BlockId{first.value + i});
    MUSUBI_CHECK(held, "block %lu: adopted while a task is at work on it",
                 static_cast<unsigned long>(first.value + i));
    HeldBlock& b = *held;
    MUSUBI_CHECK(b.initial_home == ground_.self() && b.words.write_ts == 0);
    if (!twins_.publish_changes(b)) continue;  // zeros
    versions_.store(b, {LogicalTime{1}, LogicalTime{1}});
    b.entry.published.equals = true;
    ground_.times.raise_clock(LogicalTime{1});
  }
}

}  // namespace musubi::coherence::migrating
