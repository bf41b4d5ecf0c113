#include "os/yield_meter.h"

#include <sched.h>

#include <algorithm>

#include "os/clock.h"

namespace musubi::os {

std::uint32_t YieldMeter::allowed(std::uint32_t wanted) noexcept {
  const std::uint32_t without = waits_without_.load(std::memory_order_relaxed);
  if (without == 0) return wanted;
  waits_without_.store(without - 1, std::memory_order_relaxed);
  return 0;
}

bool YieldMeter::yield() noexcept {
  const std::uint64_t begin = monotonic_ns();
  ::sched_yield();
  return note(monotonic_ns() - begin);
}

bool YieldMeter::note(std::uint64_t elapsed_ns) noexcept {
  const std::uint32_t penalty = penalty_.load(std::memory_order_relaxed);
  if (elapsed_ns < slow_ns) {
    if (penalty != 0) penalty_.store(penalty / 2, std::memory_order_relaxed);
    return true;
  }
  const std::uint64_t made_up = std::max<std::uint64_t>(2 * penalty, elapsed_ns / sleep_ns);
  const auto next = static_cast<std::uint32_t>(std::min<std::uint64_t>(made_up, waits_without_max));
  penalty_.store(next, std::memory_order_relaxed);
  waits_without_.store(next, std::memory_order_relaxed);
  return false;
}

}  // namespace musubi::os
