#include "coherence/migrating/misses/faults.h"

#include <sched.h>

#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/faults.h"

namespace musubi::coherence::migrating {

Task<FaultOutcome> Faults::fault(BlockId id, Touch touch, bool in_order) {
  for (;;) {
    const FaultOutcome outcome = co_await fault_once(id, touch, in_order);
    if (outcome != FaultOutcome::held) co_return outcome;
    co_await end_of_holding();
  }
}

Task<FaultOutcome> Faults::fault_once(BlockId id, Touch touch, bool in_order) {
  const vm::Access wanted = touch.wanted;
  HeldBlock b = co_await ground_.enter(id);
  Entry& e = b.entry;
  const rules::FaultStep step = rules::fault_step(e, wanted, holds_.now());
  if (step == rules::FaultStep::none) co_return FaultOutcome::open;
  if (step == rules::FaultStep::looks_waits) co_await look_while_held(b, touch.address);
  if (step == rules::FaultStep::waits || step == rules::FaultStep::looks_waits) co_return FaultOutcome::held;
  const bool was_valid = step == rules::FaultStep::opens;
  e.habits.wanted = e.habits.wanted || e.habits.was_invalidated;
  e.habits.fetches_ahead = 0;
  e.habits.was_invalidated = false;
  if (!was_valid && !arrivals_.holds_what_came(b)) {
    if (wanted == vm::Access::write) {
      co_await fetches_.fetch_for_writing(b);
    } else {
      co_await fetches_.fetch(b);
    }
  }
  MUSUBI_CHECK(!e.copy.bytes_lost);
  arrivals_.count_rest_as_arrival(b);
  const bool waits_for_order = in_order && !was_valid && ground_.keeps_order_now();
  if (waits_for_order && !arrivals_.is_covered(e)) co_return FaultOutcome::not_in_order;
  ground_.count(wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults);
  Run run;
  runs_.gather(b, wanted, run);
  if (run.count != 0) co_await runs_.make_valid(run, wanted);
  if (wanted == vm::Access::write) {
    const bool may_be_written = co_await make_writable(b);
    if (!may_be_written) {
      if (rules::is_valid(e)) leases_.end_copy(b);
      e.came_in = 0;  // the bytes are fetched again, from the present home
      co_return FaultOutcome::held;
    }
    for (std::size_t i = 0; i < run.count; ++i) {
      HeldBlock& member = ground_.look_again(run.block(i));
      const bool made = co_await make_writable(member);
      if (made) continue;
      twins_.make(member);  // order has begun just now: it does not cover this yet
    }
  }
  runs_.open(b, was_valid, wanted, run);
  co_return FaultOutcome::open;
}

// Under the gate: a release that began before the rank was alone may be about to close the block. Threads
// that contend for a word look again rather than queue up at the gate, where each would wait for another to
// wake.
bool Faults::modify_at_once(BlockId id, Modification& modification) {
  constexpr unsigned looks = 1024, looks_before_yield = 32;
  std::optional<HeldBlock> held;
  for (unsigned look = 0; look < looks && !held && ground_.alone.load(); ++look) {
    if (auto entered = ground_.try_enter(id)) held.emplace(std::move(*entered));
    if (!held && look % looks_before_yield == 0) ::sched_yield();
  }
  if (!held || !ground_.alone.load()) return false;
  const HeldBlock& b = *held;
  if (b.entry.copy.state != State::writable && !b.entry.copy.pinned) return false;
  ground_.learn_atomic_words(b.words, rules::atomic_words_of(modification.offset, modification.bytes));
  modification.takes_writes_along = false;
  modification.apply(b.own);
  ground_.count(Counter::atomics);
  ground_.count(Counter::lone_atomics);
  return true;
}

// The block is valid, and about to be opened for writing. Result: false while order is kept, and the rank
// that became its home just now may still be taking the live bytes here: new writes would go out with them.
Task<bool> Faults::make_writable(HeldBlock& b) {
  const Entry& e = b.entry;
  if (rules::is_dirty(e)) co_return true;
  MUSUBI_CHECK(!e.copy.bytes_lost);
  const bool without_twin = co_await unpublished_.leave_unpublished(b);
  if (without_twin) co_return true;
  const bool may_be_taken = e.published.given_up && ground_.keeps_order() && !ground_.is_home(b);
  if (may_be_taken && !ground_.injected(InjectedBug::written_while_taken)) co_return false;
  twins_.make(b);
  co_return true;
}

// A thread is back at a block that was open until the hold closed it. The bytes are fetched now, and stay
// closed. If the thread's word is unchanged, the thread either does not wait for this block or must go on
// waiting. If bytes have come already, the value that the thread saw is unknown.
Task<> Faults::look_while_held(HeldBlock& b, std::uintptr_t address) {
  MUSUBI_CHECK(!rules::is_valid(b.entry));
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const std::size_t at = (address - b.extent.address) / word_bytes * word_bytes;
  holds_.begin_look();
  bool is_change = true;
  if (address != 0 && at + word_bytes <= b.extent.bytes && !b.entry.copy.bytes_lost &&
      !arrivals_.holds_what_came(b)) {
    std::uint64_t before, after;
    std::memcpy(&before, b.own + at, word_bytes);
    co_await fetches_.fetch(b);
    std::memcpy(&after, b.own + at, word_bytes);
    is_change = before != after;
  }
  holds_.end_look(is_change);
}

Task<> Faults::end_of_holding() {
  { auto pass = co_await ground_.release_gate.enter(); }
  co_await holds_.end_of_openings_held();
}

}  // namespace musubi::coherence::migrating
