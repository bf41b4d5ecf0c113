#include "fabric/delayed/naps.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "os/clock.h"

namespace musubi::fabric {
namespace {

// Wake-up polling interval.
constexpr std::uint64_t nap_max_ns = 1'000'000;
// A nap that ended even later was delayed by other programs on the core.
constexpr std::uint64_t late_max_ns = 100'000;

}  // namespace

void Naps::pass_to_the_point(std::uint64_t due) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  if (due <= now) return;
  const bool near = due - now <= late_ns_.load(std::memory_order_relaxed);
  if (near && yields_.allowed(1) != 0) {
    yields_.yield();
  } else {
    nap_until(now, due);
  }
}

void Naps::pass(std::uint64_t due) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  if (due > now) nap_until(now, due);
}

void Naps::nap_until(std::uint64_t now, std::uint64_t due) noexcept {
  const std::uint64_t before = late_ns_.load(std::memory_order_relaxed);
  const std::uint64_t asked = std::min(due - now > before ? due - now - before : 1, nap_max_ns);
  const timespec length{0, static_cast<long>(asked)};
  ::prctl(PR_SET_TIMERSLACK, 1);  // for exact naps; cheap compared to one
  const std::uint64_t begin = os::monotonic_ns();
  ::nanosleep(&length, nullptr);
  const std::uint64_t lasted = os::monotonic_ns() - begin;
  const std::uint64_t late = std::min(lasted > asked ? lasted - asked : 0, late_max_ns);
  late_ns_.store((3 * before + late) / 4, std::memory_order_relaxed);
}

}  // namespace musubi::fabric
