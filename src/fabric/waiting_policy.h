// How a thread waits. Measured on two cores: if every thread has a core, a spinning barrier takes 0.4 us and
// a futex 20 us. If threads outnumber the cores, spinning takes 22 ms (whole scheduler slices), and 50 yields
// followed by a futex 3 us. Yields end early while other programs compute (os/yield_meter.h).
#pragma once

#include <cstdint>

namespace musubi::fabric {

struct WaitingPolicy {
  std::uint32_t spin_checks = 0;  // polls with a pause between them
  std::uint32_t yields = 0;       // then polls with a sched_yield between them; then sleep
};

// The policy for `threads_on_host` threads (ranks x threads per rank) that share `cores`.
constexpr WaitingPolicy waiting_policy(std::uint32_t threads_on_host, std::uint32_t cores) noexcept {
  if (threads_on_host <= cores) return WaitingPolicy{.spin_checks = 2000, .yields = 0};
  return WaitingPolicy{.spin_checks = 0, .yields = 50};
}

}  // namespace musubi::fabric
