// Evicts copies of blocks whose home is elsewhere when memory gets short. Reads leave no trace while pages
// are open. So a copy goes in two steps: it is closed, and stays on trial with its bytes; if it is touched
// until its turn comes again, it opens without a fetch, and stays. Otherwise its bytes go.
//
// Other ranks may be at work on an evicted copy:
// - A reader that comes by a notice reads the public copy: as where copies are given back (copy_reclaim.cpp).
// - The rank that came next in the lock's queue, when the home was here, takes the version from here. It has
//   done so when a later version is known, or when it, or a rank after it, is home and free.
// - A reader of live bytes that was on its way when the home moved looks at the owner word after them.
#include "coherence/migrating/room/evictions.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/evictions.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// Releases leave blocks protected in their books before they are so: none is under way during this task.
Task<std::size_t> Evictions::throw_out(std::size_t bytes) {
  if (ground_.store.memory().pages == nullptr) co_return 0;
  auto pass = co_await ground_.release_gate.enter();
  Residents& residents = ground_.residents;
  std::size_t freed = 0;
  // Each once to be tried, and once to be judged.
  std::size_t looks = 2 * (residents.blocks(Residence::fresh) + residents.blocks(Residence::on_trial));
  for (; looks != 0 && freed < bytes; --looks) {
    const bool tries =
        rules::tries_more(residents.blocks(Residence::fresh), residents.blocks(Residence::on_trial));
    const std::optional<BlockId> id = residents.take(tries ? Residence::fresh : Residence::on_trial);
    if (!id) break;
    freed += co_await look_at(*id, !tries);
  }
  co_return freed;
}

// A block that has left its queue. Result: the bytes that are free now.
Task<std::size_t> Evictions::look_at(BlockId id, bool was_on_trial) {
  HeldBlock b = co_await ground_.enter(id);
  Entry& e = b.entry;
  Residents& residents = ground_.residents;
  MUSUBI_CHECK(e.queues.residence != Residence::none);
  residents.leave(e, b.extent.bytes);
  if (ground_.is_home(b)) {
    residents.add(id, e, b.extent.bytes, Residence::home);
    co_return 0;
  }
  if (ground_.store.has_private_parts(b)) co_return 0;
  rules::Fate fate = rules::fate_of(e, was_on_trial);
  if (e.copy.state == State::invalid_dirty && ground_.injected(InjectedBug::evicted_with_changes))
    fate = rules::Fate::goes;
  switch (fate) {
    case rules::Fate::goes: {
      const bool gone = co_await evict(b);
      if (gone) co_return b.extent.bytes;
      break;
    }
    case rules::Fate::is_tried:
      ground_.vm.close({id, 1});
      e.copy.state = State::invalid_clean;
      arrivals_.note_arrival(b);
      residents.add(id, e, b.extent.bytes, Residence::on_trial);
      co_return 0;
    case rules::Fate::stays:
      if (rules::is_dirty(e)) {  // it has to be released first
        residents.add(id, e, b.extent.bytes, Residence::home);
        co_return 0;
      }
      break;
  }
  residents.add(id, e, b.extent.bytes, Residence::fresh);
  co_return 0;
}

Task<bool> Evictions::evict_if_unused(HeldBlock& b) {
  if (rules::fate_of(b.entry, true) != rules::Fate::goes || ground_.is_home(b)) co_return false;
  co_return co_await evict(b);
}

// Result: whether its bytes are gone.
Task<bool> Evictions::evict(HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.pinned && !rules::is_valid(b.entry) && !ground_.is_home(b));
  const bool is_needed = co_await may_be_taken_here(b);
  if (is_needed && !ground_.injected(InjectedBug::evicted_before_taken)) co_return false;
  Entry& e = b.entry;
  e.copy.state = State::invalid_clean;
  e.came_in = 0;
  e.habits.was_invalidated = false;
  e.habits.ended_in_hold = 0;  // a thread that comes back to it does not wait for a change
  e.published.equals = false;
  e.published.given_up = false;  // the writes of this rank are released
  forget_public_copy(b);
  // All bytes of version 0 are zeros, here and at its home.
  if (e.held.write_ts != LogicalTime{} && !ground_.injected(InjectedBug::evicted_bytes_not_missed))
    e.copy.bytes_lost = true;
  (void)ground_.store.memory().pages->throw_out(b.extent.offset, b.extent.bytes);
  e.habits.was_evicted = true;
  ground_.count(Counter::evictions);
  ground_.count(Counter::evicted_bytes, b.extent.bytes);
  co_return true;
}

// Whether the rank that came next in the queue may still be reading here. It has done so when a later rank is
// home and free. A rank whose word is a link may still wait for the block, or have it.
Task<bool> Evictions::may_be_taken_here(const HeldBlock& b) {
  const LogicalTime named_here{ground_.shared(b.words.write_ts).load()};
  if (rules::is_taken_for_sure(b.entry, named_here)) co_return false;
  OwnerWord found = ground_.own_word(b);
  for (unsigned links = 0; links < rules::links_to_taker_max && found.tag() == Ownership::link; ++links) {
    const Rank next = found.target();
    OwnerWord word;
    const std::array<Step, 1> look{fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, owner)),
                                               &word.raw, sizeof word.raw)};
    co_await fabric::transfer(ground_.fabric, next, look);
    found = word.resolved(next, b.initial_home);
  }
  co_return found != OwnerWord::unlocked();
}

void Evictions::forget_public_copy(HeldBlock& b) {
  if (!ground_.has_public_copy(b) && !b.entry.queues.copies) return;
  if (!ground_.injected(InjectedBug::evicted_copy_not_told)) {
    ground_.shared(b.words.public_ts).store(0);
    ground_.others_may_act();
    ground_.shared(b.words.version).fetch_add(one_copy_given_back);
    ground_.others_may_act();
  }
  if (!ground_.store.memory().pages->give_back(b.extent.offset, b.extent.bytes)) return;
  b.entry.published.memory_gone = true;
  ground_.count(Counter::given_back_bytes, b.extent.bytes);
}

}  // namespace musubi::coherence::migrating
