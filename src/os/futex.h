// Sleeping on a word of memory that several processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::os {

inline constexpr std::uint64_t no_timeout = ~std::uint64_t{0};
inline constexpr std::uint32_t wake_all = 0x7fffffff;

enum class FutexOutcome : std::uint8_t {
  woken,        // by futex_wake, or for no reason
  changed,      // the word did not hold `expected`: no sleep took place
  interrupted,  // a signal handler ran
  timed_out,
};

// Sleeps while `word` holds `expected`, at most `timeout_ns`. The word may lie in memory shared between
// processes. Any thread, signal-safe. Spurious returns are allowed: the caller looks again.
FutexOutcome futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::uint64_t timeout_ns = no_timeout) noexcept;

// Wakes up to `count` sleepers of all processes. Result: how many were woken. Any thread, signal-safe.
std::uint32_t futex_wake(const std::atomic<std::uint32_t>& word, std::uint32_t count = wake_all) noexcept;

}  // namespace musubi::os
