// How a thread waits for a moment that is some microseconds away. A sleep ends late: by 20 us in a virtual
// machine, as much as the trip of a fast network takes. So naps learn how late they end, and are shorter by
// that. What is left then passes by yields, as long as these are quick.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/yield_meter.h"

namespace musubi::fabric {

// Any thread.
class Naps {
 public:
  // Passes time, at most until `due` (os::monotonic_ns()) and perhaps much less.
  void pass_to_the_point(std::uint64_t due) noexcept;
  // The same for a thread that should not take the core from others; may end late.
  void pass(std::uint64_t due) noexcept;

 private:
  void nap_until(std::uint64_t now, std::uint64_t due) noexcept;

  std::atomic<std::uint64_t> late_ns_{10'000};  // what a nap takes longer than asked for, about
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
