// Programs that hand data over by plain flags: what comes from other ranks stays closed until an acquire that
// began after it had come has ended, lest a thread see a flag there whose data is still old here. Bytes come
// by fetches, and by releases and atomic operations of blocks whose home is elsewhere; of open pages these
// close the block first. Open pages change in place only while no thread of the rank runs program code (at a
// barrier, which such an acquire follows), and where the block is pinned.
#include <utility>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

void Engine::order_ended(std::uint32_t number) {
  std::uint32_t seen = orders_ended_.load();
  while (static_cast<std::int32_t>(number - seen) > 0 && !orders_ended_.compare_exchange_weak(seen, number)) {
  }
}

bool Engine::is_unordered(std::uint32_t came_in) const {
  return came_in != 0 && static_cast<std::int32_t>(orders_ended_.load() - came_in) <= 0;
}

// The private bytes of the block have changed, or are about to, by what another rank wrote.
void Engine::note_arrival(const Block& b) {
  const std::uint32_t now = orders_begun_.load();
  if (is_valid(b.entry)) {
    came_open_in_.store(now);
  } else {
    b.entry.came_in = now;
  }
}

// Whether the block, closed, has bytes that came for a fault and may still be held. It is watched from here
// on.
bool Engine::holds_what_came(Block& b) {
  Entry& e = b.entry;
  if (e.came_in == 0 || e.bytes_lost) return false;
  watch_lease(b.id, e);
  return e.read_ts >= later(acquired(), e.hint_write_ts);
}

bool Engine::may_change_in_place(const Entry& e) const {
  return e.pinned || runs_no_program_code() || !publish_always_.load();
}

// Another thread of this rank may write data, and then its flag, while a release is between the two blocks:
// the flag then goes out before the data. A second release that works like the first would bring the data,
// and perhaps the next flag. So this one stops the blocks that have changed again, until none of the others
// has: what is in the stopped ones then is all that their threads wrote up to some moment.
Task<> Engine::release_as_of_now() {
  auto pass = co_await release_gate_.enter();
  holding_.store(true);
  // Whoever looked before that may still open a block, and has listed it when he leaves its gate.
  for (Gate& gate : gates_) {
    if (gate.looks_free()) continue;
    auto opened = co_await gate.enter();
  }
  const std::span<BlockId> listed = dirty_.take();
  const std::size_t held = co_await hold_changed(listed);
  TaskGroup elsewhere(parameters_.release_window);
  for (const BlockId id : listed.first(held)) co_await release_one(id, false, elsewhere);
  dirty_.add_again(listed.subspan(held));
  co_await release_live_ranges(false, elsewhere);
  co_await elsewhere.drain();
  holding_.store(false);
}

// Result: how many are held; they stand in front.
Task<std::size_t> Engine::hold_changed(std::span<BlockId> listed) {
  std::size_t held = 0;
  for (std::size_t before = listed.size() + 1; before != held;) {
    before = held;
    for (std::size_t i = held; i < listed.size(); ++i) {
      auto pass = co_await gate(listed[i]).enter();
      Block b = block(listed[i]);
      Entry& e = b.entry;
      if (e.state == State::writable) {
        if (e.unpublished || !differs_from_twin(b)) continue;
        vm_.downgrade({b.id, 1});
        e.state = State::readable_dirty;
      }
      std::swap(listed[i], listed[held++]);
    }
  }
  co_return held;
}

Task<> Engine::end_of_release() {
  auto pass = co_await release_gate_.enter();
}

}  // namespace musubi::coherence::migrating
