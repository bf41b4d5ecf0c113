// Decides whether a waiting thread should yield its core or sleep. While the threads of a job have the
// machine to themselves, a yield is the fastest way to give another thread the core. Next to other programs
// it is the slowest: a thread that yields waits for a whole time slice of every thread that computes
// (measured: 10 ms per yield next to four busy loops). A thread that is woken from sleep runs first. The
// duration of yields tells the two cases apart.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::os {

// Any number of threads may share one; its state is only a hint. Signal-safe.
class YieldMeter {
 public:
  constexpr YieldMeter() = default;
  YieldMeter(const YieldMeter&) = delete;

  // For a wait that would begin with up to `wanted` yields. Result: `wanted`, or 0: sleep at once.
  std::uint32_t allowed(std::uint32_t wanted) noexcept;
  // The part of a wait between spinning and sleeping: up to `wanted` yields, until done() is true after one
  // of them. Result: the last done(); false: sleep.
  template <typename Done>
  bool yield_until(std::uint32_t wanted, Done done) noexcept {
    bool ended = false;
    std::uint32_t left = allowed(wanted);
    while (!ended && left != 0) {
      left = yield() ? left - 1 : 0;
      ended = done();
    }
    return ended;
  }
  // Yields. Result: whether further yields pay; false: sleep.
  bool yield() noexcept;
  // Evaluates a yield that took `elapsed_ns`. Result: as of yield().
  bool note(std::uint64_t elapsed_ns) noexcept;

  static constexpr std::uint64_t slow_ns = 250'000;  // far longer than a hand-over between threads of a job
  static constexpr std::uint64_t sleep_ns = 50'000;  // about the cost of a sleep instead of a yield
  static constexpr std::uint32_t waits_without_max = 4096;

 private:
  std::atomic<std::uint32_t> waits_without_{0};  // waits that are still to sleep at once
  // Waits without yields after the last slow yield: enough to make up for it, or more. Grows with each slow
  // yield, shrinks with fast ones.
  std::atomic<std::uint32_t> penalty_{0};
};

}  // namespace musubi::os
