// Whether a thread that waits should yield its core or sleep. While the threads of a job have the machine to
// themselves, a yield is the fastest way to let another thread have the core. Beside other programs it is the
// slowest: a thread that yields gets behind every thread that computes, for a whole time slice of each
// (measured: 10 ms for every yield beside four busy loops). A thread that sleeps and is woken comes first.
// How long yields take tells which of the two cases holds.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::os {

// Any number of threads may share one; what they learn is a hint. Signal-safe.
class YieldMeter {
 public:
  constexpr YieldMeter() = default;
  YieldMeter(const YieldMeter&) = delete;

  // For a wait that would begin with up to `wanted` yields. Result: `wanted`, or 0: it had better sleep.
  std::uint32_t allowed(std::uint32_t wanted) noexcept;
  // A wait's part between spinning and sleeping: up to `wanted` yields, until done() after one of them.
  // Result: the last done(); false: sleep.
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
  // Yields. Result: whether it pays to go on like that; false: sleep.
  bool yield() noexcept;
  // What yield() makes of a yield that took `elapsed_ns`. Result: as there.
  bool note(std::uint64_t elapsed_ns) noexcept;

  static constexpr std::uint64_t slow_ns = 250'000;  // far more than the threads of a job need to hand over
  static constexpr std::uint64_t sleep_ns = 50'000;  // about what a wait loses that sleeps instead
  static constexpr std::uint32_t waits_without_max = 4096;

 private:
  std::atomic<std::uint32_t> waits_without_{0};  // that are still to sleep at once
  // Waits without yields after the last slow one: as many as make up for it, or more. Grows with each slow
  // one, falls with quick ones.
  std::atomic<std::uint32_t> penalty_{0};
};

}  // namespace musubi::os
