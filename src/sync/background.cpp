#include "sync/background.h"

namespace musubi::sync {

// Result: whether it may work. `worst`: the kind of barrier at which it still may.
Task<bool> Background::begin(Stand::Barrier worst) {
  stand_.begin_background();
  if (stand_.barrier() > worst) {
    stand_.end_background();
    co_return false;
  }
  for (unsigned look = 0; stand_.operates(); ++look) co_await pause(look);
  co_return true;
}

Task<bool> Background::answer() {
  for (unsigned attempt = 0;; ++attempt) {
    const std::uint64_t request = flags_.unanswered();
    if (request == 0) co_return attempt != 0;
    const bool may_work = co_await begin(Stand::Barrier::beside_others);
    if (may_work) {
      co_await flags_.answer(true);
      stand_.end_background();
      counters_.add(trace::Counter::background_releases);
      co_return true;
    }
    const bool has_released = co_await protocol_.has_released_standing();
    if (has_released) {
      flags_.note_answer(request);
    } else {
      co_await pause(attempt);
    }
  }
}

// What acquires have done to blocks of this rank.
std::uint64_t Background::changes() const {
  return counters_.get(trace::Counter::invalidations) + counters_.get(trace::Counter::fetches);
}

Task<bool> Background::turn(bool silent) {
  counters_.add(trace::Counter::background_turns);
  co_await flags_.request_releases();
  for (unsigned look = 0;; ++look) {
    const bool all_have = co_await flags_.have_answered(look);
    if (all_have) break;
    (void)co_await answer();
    co_await pause(look);
  }
  const bool may_work = co_await begin(Stand::Barrier::none);
  if (!may_work) co_return false;
  bool found = false;
  if (flags_.settled() != 0) {
    const std::uint64_t before = changes();
    co_await flags_.acquire_beside();
    found = changes() != before;
    if (found) counters_.add(trace::Counter::background_finds);
    if (found && silent) co_await flags_.keep_in_use();
  } else {
    found = co_await first_turn(silent);
  }
  certain_in_.store(flags_.settled());
  stand_.end_background();
  co_return found;
}

// Until it is certain that all ranks keep order, no thread sees what has changed. Order has its price: it is
// not kept for programs that compute. Who spins is back at what was closed before this has ended.
Task<bool> Background::first_turn(bool silent) {
  co_await protocol_.hold_openings();
  const std::uint64_t before = changes();
  protocol_.set_ordered(true);
  co_await flags_.acquire_beside();
  const bool found = changes() != before;
  bool keeps = flags_.in_use();
  if (!keeps && found && silent) keeps = co_await somebody_rereads();
  if (!keeps) {
    co_await flags_.end_if_unused();
  } else {
    co_await flags_.keep_in_use();
    co_await flags_.settle();
    co_await flags_.ask_all();
    co_await flags_.acquire_beside();
  }
  protocol_.allow_openings();
  if (found) counters_.add(trace::Counter::background_finds);
  const bool helps = found && keeps;
  co_return helps;
}

Task<bool> Background::somebody_rereads() {
  constexpr unsigned looks = 3, long_pause = 100;
  for (unsigned look = 0; look < looks && !protocol_.reread_while_held(); ++look) co_await pause(long_pause);
  co_return protocol_.reread_while_held();
}

}  // namespace musubi::sync
