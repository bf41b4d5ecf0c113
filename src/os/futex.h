// Sleeping on a word of memory that several processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::os {

inline constexpr std::uint64_t no_timeout = ~std::uint64_t{0};
inline constexpr std::uint32_t wake_all = 0x7fffffff;

enum class FutexOutcome : std::uint8_t {
  woken,        // by futex_wake, or spuriously
  changed,      // the word did not hold `expected`: the thread did not sleep
  interrupted,  // by a signal handler
  timed_out,
};

// Sleeps while `word` holds `expected`, at most `timeout_ns`. Processes may share the memory of the word. Any
// thread, signal-safe. Spurious returns are possible: the caller checks the word again.
FutexOutcome futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::uint64_t timeout_ns = no_timeout) noexcept;

// Wakes up to `count` sleepers of all processes. Result: the number woken. Any thread, signal-safe.
std::uint32_t futex_wake(const std::atomic<std::uint32_t>& word, std::uint32_t count = wake_all) noexcept;

}  // namespace musubi::os
