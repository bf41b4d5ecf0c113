// A lock for the tasks of one rank that is not granted in order of arrival: a running thread takes a free
// lock at once, while the longest-waiting one is still waking up. Handing the lock to a sleeper each time
// would cost a context switch for each critical section, however short. A waiting task is overtaken at most
// passed_max times: then the lock is handed to it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/event.h"
#include "base/task.h"

namespace musubi::sync {

class LocalHold {
 public:
  // Failed wake-ups of the first waiting task before the lock is handed to it.
  static constexpr int passed_max = 8;

  // Any thread. Does not wait.
  bool try_take() noexcept {
    State expected = State::free;
    return state_.compare_exchange_strong(expected, State::held, std::memory_order_acquire);
  }

  // Not recursive.
  Task<> take() {
    const Gate::Pass place = co_await waiters_.enter();
    for (int passed = 0; !try_take(); ++passed) {
      freed_.reset();
      const State wanted = passed < passed_max ? State::awaited : State::promised;
      if (state_.exchange(wanted, std::memory_order_acq_rel) == State::free || is_handed_over()) break;
      co_await freed_;
      if (is_handed_over()) break;
    }
    state_.store(State::held, std::memory_order_relaxed);
  }

  // By the holder, on any thread.
  void give_back() noexcept {
    State before = State::held;
    if (state_.compare_exchange_strong(before, State::free, std::memory_order_release)) return;
    if (before == State::promised) {
      handed_over_.store(true, std::memory_order_release);
    } else {
      state_.store(State::free, std::memory_order_release);
    }
    freed_.set();
  }

 private:
  // awaited, promised: held, and the first waiting task sleeps or is about to; a promised lock goes to it.
  enum class State : std::uint32_t { free, held, awaited, promised };

  bool is_handed_over() noexcept { return handed_over_.exchange(false, std::memory_order_acq_rel); }

  std::atomic<State> state_{State::free};
  std::atomic<bool> handed_over_{false};
  Event freed_;  // the first waiting task awaits it; may be set late, after that task has continued
  Gate waiters_;
};

}  // namespace musubi::sync
