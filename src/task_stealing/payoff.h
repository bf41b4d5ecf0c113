// Whether stealing pays: the processor time of stolen tasks against the cost of getting them. A
// rank for which it does not pay tries again after pauses that double.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace musubi::task_stealing {

class Payoff {
 public:
  // A stolen task has run for so long, not counting waits. Any thread.
  void note_work(std::uint64_t ns) noexcept { average(work_ns_, ns); }
  // So many tasks came after so long. One thread, as for the rest.
  void note_steal(std::uint64_t ns, std::uint32_t tasks) noexcept {
    average(trip_ns_, ns / std::max(tasks, 1u));
    note_push();
  }
  // Tasks came without a question.
  void note_push() noexcept {
    if (pays()) {
      pause_ns_ = 0;
    } else {
      pause_ns_ = std::clamp(pause_ns_ * 2, first_pause_ns, longest_pause_ns);
    }
  }
  // 0: at once.
  std::uint64_t pause_ns() const noexcept { return pause_ns_; }

 private:
  static constexpr std::uint64_t first_pause_ns = 1'000'000, longest_pause_ns = 64'000'000;
  // A thief has nothing better to do than to wait, so that long trips do no harm; the victim's release and
  // its next faults do, and cost about this much.
  static constexpr std::uint64_t cost_to_victim_ns = 100'000;

  bool pays() const noexcept {
    const std::uint64_t work_ns = work_ns_.load(std::memory_order_relaxed);
    const std::uint64_t trip_ns = trip_ns_.load(std::memory_order_relaxed);
    return work_ns == 0 || work_ns >= std::min(trip_ns, cost_to_victim_ns);
  }
  // Of about the last four.
  static void average(std::atomic<std::uint64_t>& of, std::uint64_t ns) noexcept {
    const std::uint64_t before = of.load(std::memory_order_relaxed);
    of.store(before == 0 ? ns + 1 : before - before / 4 + ns / 4, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> work_ns_{0};  // 0: unknown
  std::atomic<std::uint64_t> trip_ns_{0};
  std::uint64_t pause_ns_ = 0;
};

}  // namespace musubi::task_stealing
