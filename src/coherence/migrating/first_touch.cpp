// The first write to a block that nobody has written: the writer becomes its home at once, not at its first
// release. Nothing moves, no twin is made, and while nobody reads the block it stays unpublished - so what a
// parallel loop initialises costs each rank no more than its own memory, whoever has allocated it.
#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

using remote_lock::Ownership;

// Whether this rank has seen nothing of the block so far. Its bytes here are zero, private and public ones.
bool Engine::looks_untouched(const Block& b) {
  const Entry& e = b.entry;
  return e.state == State::invalid_clean && e.write_ts == LogicalTime{} && e.hint_write_ts == LogicalTime{} &&
         !e.bytes_lost && own_word(b).tag() == Ownership::link;
}

// A write to an invalid block: makes it valid.
Task<> Engine::fetch_for_writing(Block& b) {
  if (!parameters_.leave_unpublished || !looks_untouched(b)) {
    co_await fetch(b);
    co_return;
  }
  Lock taken = co_await lock(b);
  co_await learn_words(b, taken);
  if (taken.words.write_ts != 0 || taken.words.read_ts != 0) {  // somebody was here before
    BufferPool::Buffer scratch(store_.scratch());
    co_await become_home(b, taken, scratch.data());
  } else {
    count(Counter::first_touches);
    const LogicalTime now = later(LogicalTime{1}, acquired());
    store_version(b, {now, now});
    raise(clock_, now);
    // The previous home may have read its zeros: it needs no lease for that.
    const bool live = may_be_unpublished(b.entry);
    if (!injected(InjectedBug::notice_forgotten)) signature_.add({b.id, now, now, fabric_.self(), live});
    b.entry.published_equals = true;
    end_critical_section(b);
    co_await locks_.unlock(b.id.value);
  }
  watch_lease(b.id, b.entry);
  if (b.entry.read_ts < acquired()) co_await fetch(b);
}

}  // namespace musubi::coherence::migrating
