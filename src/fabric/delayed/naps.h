// How a thread waits for a time some microseconds ahead. A sleep ends late: by 20 us in a virtual machine, as
// long as a trip over a fast network. So naps measure how late they end, and are shortened by that much. The
// thread yields for the rest, as long as yields are quick.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/yield_meter.h"

namespace musubi::fabric {

// Any thread.
class Naps {
 public:
  // Passes time, at most until `due` (os::monotonic_ns()), perhaps much less.
  void pass_to_the_point(std::uint64_t due) noexcept;
  // The same for a thread that should leave the core to other threads; may end late.
  void pass(std::uint64_t due) noexcept;

 private:
  void nap_until(std::uint64_t now, std::uint64_t due) noexcept;

  std::atomic<std::uint64_t> late_ns_{10'000};  // average lateness of a nap
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
