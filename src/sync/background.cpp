#include "sync/background.h"

namespace musubi::sync {

// Result: whether it may work.
Task<bool> Background::begin() {
  activity_.begin_background();
  if (activity_.is_at_quiescent_barrier()) {
    activity_.end_background();
    co_return false;
  }
  for (unsigned look = 0; activity_.operates(); ++look) co_await pause(look);
  co_return true;
}

// Whether the rank's barrier has released the writes under all policies, those under the first one in order.
Task<bool> Background::has_released_at_barrier() {
  if (!activity_.has_released_at_barrier()) co_return false;
  co_return co_await ordering_.has_released_at_barrier();
}

Task<bool> Background::answer() {
  for (unsigned attempt = 0;; ++attempt) {
    const std::uint64_t request = flags_.unanswered();
    if (request == 0) co_return attempt != 0;
    const bool may_work = co_await begin();
    if (may_work) {
      co_await flags_.answer(true);
      activity_.end_background();
      counters_.add(trace::Counter::background_releases);
      co_return true;
    }
    const LockTable::Kept kept = flags_.kept_locks();
    const bool has_released = co_await has_released_at_barrier();
    if (has_released) {
      co_await flags_.note_answer(request, kept);
    } else {
      flags_.put_back(kept);
      co_await pause(attempt);
    }
  }
}

// Counts the changes that acquires have made to blocks of this rank.
std::uint64_t Background::changes() const {
  return counters_.get(trace::Counter::invalidations) + counters_.get(trace::Counter::fetches);
}

Task<bool> Background::poll(bool silent) {
  counters_.add(trace::Counter::background_turns);
  co_await flags_.request_releases();
  for (unsigned look = 0;; ++look) {
    const bool all_have = co_await flags_.have_answered(look);
    if (all_have) break;
    (void)co_await answer();
    co_await pause(look);
  }
  const bool may_work = co_await begin();
  if (!may_work) co_return false;
  const std::uint64_t before = changes();
  bool helps = false;
  if (flags_.all_keep_order()) {
    co_await flags_.acquire_in_order();
    helps = changes() != before;
    if (helps && silent) co_await flags_.keep_in_use();
    certain_in_.store(flags_.settled());
  } else {
    helps = co_await poll_without_order(silent);
  }
  if (changes() != before) counters_.add(trace::Counter::background_finds);
  activity_.end_background();
  co_return helps;
}

// Some ranks may not keep order, and may have answered this poll out of order, even if this rank keeps it
// already. No thread sees the changes until all ranks are known to keep order. Order has a cost: it is not
// kept for programs that only compute. A spinning thread faults on a closed page before this task ends, which
// distinguishes it.
Task<bool> Background::poll_without_order(bool silent) {
  co_await ordering_.hold_openings();
  const std::uint64_t before = changes();
  ordering_.set_ordered(true);
  co_await flags_.acquire_in_order();
  const bool found = changes() != before;
  bool keeps = flags_.in_use();
  if (!keeps && found && silent) keeps = co_await a_thread_rereads();
  if (!keeps) {
    co_await flags_.end_if_unused();
  } else {
    if (found && silent) co_await flags_.keep_in_use();
    co_await flags_.pass_credit_on();
    co_await flags_.settle();
    co_await flags_.ask_all();
    co_await flags_.acquire_in_order();
    certain_in_.store(flags_.settled());
  }
  ordering_.allow_openings();
  const bool helps = found && keeps;
  co_return helps;
}

Task<bool> Background::a_thread_rereads() {
  constexpr unsigned looks = 3, long_pause = 100;
  using coherence::Reread;
  for (unsigned look = 0;; ++look) {
    const Reread reread = ordering_.reread_while_held();
    if (reread == Reread::change) co_return true;
    if (reread == Reread::nothing && look >= looks) co_return false;
    co_await pause(long_pause);
  }
}

}  // namespace musubi::sync
