// Programs that hand data over by plain flags: what comes from other ranks stays closed until an acquire that
// began after it had come has ended, lest a thread see a flag there whose data is still old here. Bytes come
// by fetches, and by releases and atomic operations of blocks whose home is elsewhere; of open pages these
// close the block first. Open pages change in place only while no thread of the rank runs program code (at a
// barrier, which such an acquire follows), and where the block is pinned.
#include <cstring>
#include <utility>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

// As soon as the number is raised, other threads open blocks with flags. The data may be what the acquire has
// brought itself for blocks that are always open, and is held back until the next one.
Task<bool> Engine::order_ended(std::uint32_t number) {
  co_await held_back_.show_if({.number = number});
  const bool shows_all = held_back_.empty();
  if (shows_all) acquires_.end(number);
  co_return shows_all;
}

bool Engine::must_hold_back(const Entry& e) const {
  return e.pinned && keeps_order() && !quiescence_ && !injected(InjectedBug::shown_before_acquired);
}

// The block is always open, and `remote` its newest version. Result: false when it is not held back, and must
// be merged at once.
bool Engine::hold_back(Block& b, const std::byte* remote, Rank giver) {
  if (must_hold_back(b.entry)) return held_back_.hold(b, remote, giver);
  if (b.entry.held_back) held_back_.show(b);
  return false;
}

// What an atomic operation finds is the newest; its words alone are shown before it.
void Engine::show_for(Block& b, const Modification& modification) {
  if (!must_hold_back(b.entry)) return held_back_.show(b);
  held_back_.show_words_of(b, modification.offset, modification.bytes);
}

std::uint64_t Engine::atomic_words_of(const Modification& modification) {
  constexpr std::size_t words = 64, word = sizeof(std::uint64_t);
  if (modification.bytes > words * word) return ~std::uint64_t{0};
  std::uint64_t result = 0;
  const std::size_t last = (modification.offset + modification.bytes - 1) / word;
  for (std::size_t i = modification.offset / word; i <= last; ++i) result |= std::uint64_t{1} << i % words;
  return result;
}

// The private bytes of the block have changed, or are about to, by what another rank wrote.
void Engine::note_arrival(const Block& b) {
  const std::uint32_t now = acquires_.begun();
  if (rules::is_valid(b.entry)) {
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
  return e.pinned || quiescence_ || !keeps_order();
}

// Another thread of this rank may write data, and then its flag, while a release is between the two blocks:
// the flag then goes out before the data. A second release that works like the first would bring the data,
// and perhaps the next flag. So this one stops the blocks that have changed again, until none of the others
// has: what is in the stopped ones then is all that their threads wrote up to some moment.
Task<> Engine::release_as_of_now() {
  if (injected(InjectedBug::not_as_of_now)) co_return;
  auto pass = co_await release_gate_.enter();
  holds_.hold_writes(true);
  co_await end_of_gated();  // whoever looked before that may still open a block, and has listed it then
  TaskGroup elsewhere(parameters_.release_window);
  const std::span<BlockId> listed = dirty_.take();
  const std::size_t held = co_await hold_and_copy_stacks(listed, elsewhere);
  for (const BlockId id : listed.first(held)) co_await release_one(id, false, elsewhere);
  dirty_.add_again(listed.subspan(held));
  co_await elsewhere.drain();
  holds_.hold_writes(false);
}

// Stacks cannot be stopped. They are copied before the moment at which all others stand, for flags that lie
// there; and again if they have changed until then, for data that lies there. A stack that changes all the
// time would keep this from ending.
Task<std::size_t> Engine::hold_and_copy_stacks(std::span<BlockId> listed, TaskGroup& elsewhere) {
  constexpr unsigned attempts_max = 3;
  std::size_t held = 0;
  for (unsigned attempt = 0;; ++attempt) {
    co_await release_stacks(false, elsewhere);
    co_await elsewhere.drain();
    held = co_await hold_changed(listed, held);
    if (attempt == attempts_max || stacks_are_unchanged()) co_return held;
  }
}

// Nobody has taken anything of the block. Who does so from now on takes live bytes, and asks for a release.
bool Engine::is_unread(const Block& b) const {
  const bool at_home = own_word(b).tag() == remote_lock::Ownership::unlocked;
  return at_home && shared(b.words.public_ts).load() == 0 &&
         shared(b.words.read_ts).load() == b.words.write_ts;
}

// Result: how many are held; they stand in front, `held` of them from the beginning.
Task<std::size_t> Engine::hold_changed(std::span<BlockId> listed, std::size_t held) {
  for (std::size_t before = listed.size() + 1; before != held;) {
    before = held;
    for (std::size_t i = held; i < listed.size(); ++i) {
      auto pass = co_await gate(listed[i]).enter();
      Block b = block(listed[i]);
      Entry& e = b.entry;
      if (e.state == State::writable) {
        if (e.gave_up_copy ? is_unread(b) : !differs_from_twin(b)) continue;
        vm_.downgrade({b.id, 1});
        e.state = State::readable_dirty;
      }
      std::swap(listed[i], listed[held++]);
    }
  }
  co_return held;
}

// Every task that was at work on a block has left it.
Task<> Engine::end_of_gated() {
  for (Gate& gate : store_.gates()) {
    if (gate.looks_free()) continue;
    auto opened = co_await gate.enter();
  }
}

// After set_ordered(): whoever has not seen it has ended. Releases of that time are no longer under way.
Task<> Engine::end_of_unordered() {
  co_await end_of_gated();
  auto pass = co_await release_gate_.enter();
}

Task<> Engine::hold_openings() {
  co_await holds_.hold_openings();
  co_await end_of_gated();
}

// A thread is back at a block that was closed, and waits. The bytes come now, and stay closed. Where its word
// is as it was, it would do what it did before: it computes beside words that others change, or waits on.
// Where bytes have come already, what the thread saw is not known any more.
Task<> Engine::look_while_held(Block& b, std::uintptr_t address) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const std::size_t at = (address - b.extent.address) / word_bytes * word_bytes;
  holds_.begin_look();
  bool is_change = true;
  if (address != 0 && at + word_bytes <= b.extent.bytes && !b.entry.bytes_lost && !holds_what_came(b)) {
    std::uint64_t before, after;
    std::memcpy(&before, b.own + at, word_bytes);
    co_await fetch(b);
    std::memcpy(&after, b.own + at, word_bytes);
    is_change = before != after;
  }
  holds_.end_look(is_change);
}

Task<> Engine::end_of_holding() {
  { auto pass = co_await release_gate_.enter(); }
  co_await holds_.end_of_openings_held();
}

// The release of a barrier says so under its gate, or when it has ended.
Task<bool> Engine::has_released_at_barrier() {
  if (!quiescence_.is_at_barrier()) co_return false;
  auto pass = co_await release_gate_.enter();
  co_return quiescence_.is_at_barrier();
}

}  // namespace musubi::coherence::migrating
