// A lock around calls of libfabric. The library's own locks spin: where threads outnumber cores, a thread
// that lost its processor would block all other threads for its whole absence. So libfabric is opened without
// them (FI_THREAD_DOMAIN), and a waiting thread sleeps. Signal-safe; not a lock of the C library, which the
// runtime intercepts.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_safety.h"
#include "os/cpu.h"
#include "os/futex.h"

namespace musubi::fabric::ofi {

class MUSUBI_LOCK_TYPE CallLock {
 public:
  void lock() noexcept MUSUBI_ACQUIRE() {
    for (unsigned i = 0; i < spins; ++i) {
      std::uint32_t expected = open;
      if (word_.compare_exchange_strong(expected, held)) return;
      os::pause_instruction();
    }
    while (word_.exchange(held_and_wanted) != open) os::futex_wait(word_, held_and_wanted);
  }
  void unlock() noexcept MUSUBI_RELEASE() {
    if (word_.exchange(open) == held_and_wanted) os::futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t open = 0, held = 1, held_and_wanted = 2;
  static constexpr unsigned spins = 64;  // some microseconds, the duration of a call

  std::atomic<std::uint32_t> word_{open};
};

}  // namespace musubi::fabric::ofi
