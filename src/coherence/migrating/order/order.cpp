// Programs that hand data over by plain flags. Bytes that come from other ranks stay closed until an acquire
// has ended that began after their arrival. Otherwise a thread could see a flag whose data is still old here.
//
// Fetches bring bytes; so do releases and atomic operations of blocks whose home is elsewhere. These close an
// open block first. Open pages change in place in two cases only: while no thread of the rank runs program
// code (at a barrier, which such an acquire follows), and where the block is pinned.
#include "coherence/migrating/order/order.h"

#include <utility>

#include "base/check.h"

namespace musubi::coherence::migrating {

// As soon as the number is raised, other threads open blocks with flags. The acquire itself may have brought
// the data, for blocks that are always open: that is held back until the next acquire.
Task<bool> Order::acquire_ended(std::uint32_t number) {
  co_await deferred_.show_if({.number = number});
  const bool shows_all = deferred_.empty();
  if (shows_all) acquires_.end(number);
  co_return shows_all;
}

// Another thread of this rank may write data, and then its flag, while a release is between the two blocks:
// the flag then goes out before the data. A second release of the same kind would bring the data, and perhaps
// the next flag. So this one stops the blocks that have changed again, until no other block has changed. The
// stopped blocks then hold all that their threads wrote up to some moment.
Task<> Order::release_as_of_now() {
  if (ground_.injected(InjectedBug::not_as_of_now) || ground_.has_no_one_to_tell()) co_return;
  auto pass = co_await ground_.release_gate.enter();
  holds_.hold_writes(true);
  co_await end_of_gated();  // a task that looked before may still open a block, and has listed it then
  TaskGroup elsewhere(ground_.parameters.release_window);
  co_await releases_.begin();
  const std::span<BlockId> listed = ground_.dirty.take();
  const std::size_t held = co_await hold_and_copy_stacks(listed, elsewhere);
  MUSUBI_CHECK(held <= listed.size());
  for (const BlockId id : listed.first(held)) co_await releases_.release_one(id, false, elsewhere);
  ground_.dirty.add_again(listed.subspan(held));
  co_await elsewhere.drain();
  holds_.hold_writes(false);
}

// Stacks cannot be stopped. They are copied before the moment at which all other blocks stop, for the sake of
// flags on them. If they have changed by then they are copied again, for the sake of data on them. A stack
// that changes all the time would keep this from ending.
Task<std::size_t> Order::hold_and_copy_stacks(std::span<BlockId> listed, TaskGroup& elsewhere) {
  constexpr unsigned attempts_max = 3;
  std::size_t held = 0;
  for (unsigned attempt = 0;; ++attempt) {
    co_await releases_.release_stacks(false, elsewhere);
    co_await elsewhere.drain();
    held = co_await hold_changed(listed, held);
    if (attempt == attempts_max || stacks_.all_are_unchanged()) co_return held;
  }
}

// No rank has taken anything of the block. From now on a rank takes live bytes, and asks for a release.
bool Order::is_unread(const HeldBlock& b) const {
  const bool at_home = ground_.own_word(b).tag() == remote_lock::Ownership::unlocked;
  return at_home && !ground_.has_public_copy(b) && ground_.shared(b.words.read_ts).load() == b.words.write_ts;
}

// Result: how many are held; they stand in front, `held` of them from the beginning.
Task<std::size_t> Order::hold_changed(std::span<BlockId> listed, std::size_t held) {
  for (std::size_t before = listed.size() + 1; before != held;) {
    before = held;
    for (std::size_t i = held; i < listed.size(); ++i) {
      HeldBlock b = co_await ground_.enter(listed[i]);
      Entry& e = b.entry;
      MUSUBI_CHECK(e.queues.releases && !e.copy.pinned);
      if (e.copy.state == State::writable) {
        if (e.published.given_up ? is_unread(b) : !twins_.differs(b)) continue;
        ground_.vm.downgrade({b.id, 1});
        e.copy.state = State::readable_dirty;
      }
      std::swap(listed[i], listed[held++]);
    }
  }
  co_return held;
}

// Every task that was at work on a block has left it.
Task<> Order::end_of_gated() {
  for (Gate& gate : ground_.store.gates()) {
    if (gate.looks_free()) continue;
    auto opened = co_await gate.enter();
  }
}

// After set_ordered(): tasks and visitors that have not seen it have ended. Releases of that time are no
// longer under way.
Task<> Order::end_of_unordered() {
  co_await end_of_gated();
  for (unsigned attempt = 0; !ground_.visits.is_alone(); ++attempt) co_await pause(attempt);
  auto pass = co_await ground_.release_gate.enter();
}

Task<> Order::hold_openings() {
  co_await holds_.hold_openings();
  co_await end_of_gated();
}

// The release of a barrier says so under its gate, or when it has ended.
Task<bool> Order::has_released_at_barrier() {
  if (!ground_.quiescence.is_at_barrier()) co_return false;
  auto pass = co_await ground_.release_gate.enter();
  co_return ground_.quiescence.is_at_barrier();
}

}  // namespace musubi::coherence::migrating
