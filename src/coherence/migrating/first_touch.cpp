// The first write to a block: the writer becomes its home at once, not at its first release. Nothing moves,
// no twin is made, and the block stays unpublished while nobody reads it. So the data that a parallel loop
// initialises costs each rank no more than its own memory, whichever rank has allocated it.
#include "base/check.h"
#include "coherence/migrating/fetches.h"
#include "coherence/rules/faults.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

bool Fetches::looks_untouched(const Block& b) const {
  return rules::looks_untouched(b.entry) && ground_.own_word(b).tag() == Ownership::link;
}

Task<> Fetches::fetch_for_writing(Block& b) {
  if (!ground_.parameters.leave_unpublished || !looks_untouched(b)) {
    co_await fetch(b);
    co_return;
  }
  Lock taken = co_await takeovers_.lock(b);
  co_await takeovers_.learn_words(b, taken);
  if (taken.words.write_ts != 0 || taken.words.read_ts != 0) {  // somebody was here before
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
    b.entry.published_equals = true;
    versions_.end_critical_section(b);
    co_await ground_.locks.unlock(b.id.value);
  }
  leases_.watch(b.id, b.entry);
  if (b.entry.read_ts < ground_.times.acquired()) co_await fetch(b);
}

}  // namespace musubi::coherence::migrating
