// A count of unfinished tasks, and whether a thread waits for the end of the last one, in one word: the
// thread that ends the last task learns it by the subtraction, and touches the word no more. So the waiting
// thread may free it as soon as it reads zero.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::omp {

class Countdown {
 public:
  void add() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  // Result: whether that was the last one and a thread waits for it; the caller then rings its bell.
  [[nodiscard]] bool remove() noexcept {
    return word_.fetch_sub(1, std::memory_order_acq_rel) == (awaited | 1);
  }
  bool is_zero() const noexcept { return (word_.load(std::memory_order_acquire) & ~awaited) == 0; }
  std::uint32_t count() const noexcept { return word_.load(std::memory_order_relaxed) & ~awaited; }
  // The calling thread waits for zero from now on; until stop_waiting().
  void start_waiting() noexcept { word_.fetch_or(awaited, std::memory_order_seq_cst); }
  void stop_waiting() noexcept { word_.fetch_and(~awaited, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t awaited = 0x8000'0000;

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace musubi::omp
