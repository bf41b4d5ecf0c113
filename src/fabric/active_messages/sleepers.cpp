#include "fabric/active_messages/sleepers.h"

#include <limits>

#include "os/futex.h"

namespace musubi::fabric {
namespace {

constexpr std::uint32_t all = std::numeric_limits<std::int32_t>::max();

}  // namespace

void Sleepers::ring(std::size_t place, std::uint32_t most) noexcept {
  rings_[place].fetch_add(1);
  if (sleepers_at_[place].load() != 0) os::futex_wake(rings_[place], most);
}

void Sleepers::sleep(const std::atomic<bool>& ready, std::uint32_t bell) noexcept {
  const std::atomic<bool>* none = nullptr;
  if (watcher_.compare_exchange_strong(none, &ready)) {
    if (!ready.load() && bell_of(ready) == bell) transport_.sleep(Sleeper::waiter);
    watcher_.store(nullptr);
    return hand_on();
  }
  const std::size_t place = place_of(&ready);
  sleepers_at_[place].fetch_add(1);
  sleepers_.fetch_add(1);
  const std::uint32_t rings = rings_[place].load();
  if (watcher_.load() != nullptr && !ready.load() && rings + calls_.load() == bell)
    os::futex_wait(rings_[place], rings);
  sleepers_.fetch_sub(1);
  sleepers_at_[place].fetch_sub(1);
  // The thread that received the watcher's place may no longer need it.
  if (watcher_.load() == nullptr) hand_on();
}

// A sleeper that this misses has woken up, and checks the place itself.
void Sleepers::hand_on() noexcept {
  if (sleepers_.load() == 0) return;
  const std::uint32_t first = next_.fetch_add(1);
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t place = (first + i) % places;
    if (sleepers_at_[place].load() != 0) return ring(place, 1);
  }
}

void Sleepers::wake() noexcept {
  calls_.fetch_add(1);
  if (sleepers_.load() != 0) {
    for (std::size_t place = 0; place < places; ++place) {
      if (sleepers_at_[place].load() != 0) ring(place, all);
    }
  }
  if (watcher_.load() != nullptr) transport_.wake(Sleeper::waiter);
}

void Sleepers::wake_waiter(const std::atomic<bool>* ready) noexcept {
  ring(place_of(ready), all);
  if (watcher_.load() == ready) transport_.wake(Sleeper::waiter);
}

void Sleepers::call(bool urgent) noexcept {
  calls_.fetch_add(1);
  if (watcher_.load() != nullptr) {
    transport_.wake(Sleeper::waiter);
  } else if (urgent) {
    transport_.wake(Sleeper::service);
  }
}

}  // namespace musubi::fabric
