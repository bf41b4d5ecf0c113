#include "fabric/active_messages/sleepers.h"

#include "os/futex.h"

namespace musubi::fabric {

void Sleepers::sleep(const std::atomic<bool>& ready, std::uint32_t bell) noexcept {
  if (!watched_.exchange(true)) {
    if (!ready.load() && bell_.load() == bell) transport_.sleep(Sleeper::waiter);
    watched_.store(false);
    return hand_on();
  }
  sleepers_.fetch_add(1);
  if (watched_.load() && !ready.load() && bell_.load() == bell) os::futex_wait(bell_, bell);
  sleepers_.fetch_sub(1);
  // The thread to which the watcher handed its place may have no need of it any more.
  if (!watched_.load()) hand_on();
}

void Sleepers::hand_on() noexcept {
  if (sleepers_.load() == 0) return;
  bell_.fetch_add(1);
  os::futex_wake(bell_, 1);
}

void Sleepers::wake() noexcept {
  bell_.fetch_add(1);
  if (sleepers_.load() != 0) os::futex_wake(bell_);
  if (watched_.load()) transport_.wake(Sleeper::waiter);
}

void Sleepers::call(bool urgent) noexcept {
  bell_.fetch_add(1);
  if (watched_.load()) {
    transport_.wake(Sleeper::waiter);
  } else if (urgent) {
    transport_.wake(Sleeper::service);
  }
}

}  // namespace musubi::fabric
