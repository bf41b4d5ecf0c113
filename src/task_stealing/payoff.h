// Whether stealing pays: the processor time of stolen tasks against the cost of getting them, and against the
// time that they spend in faults, for their data. A rank for which it does not pay tries again after pauses
// that double.
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
  // While `running` threads run stolen tasks: `fault_ns` is what all faults of the rank have taken so far.
  // Result: whether a time has ended, of `look_ns` or more, of which faults took more than a third: what a
  // task reads from another rank, that rank must mostly read back, so that the work itself must take longer.
  bool look(std::uint64_t now_ns, std::uint64_t look_ns, std::uint64_t fault_ns,
            std::uint32_t running) noexcept {
    if (running == 0) {
      looks_ = false;
    } else if (!looks_) {
      looks_ = true;
      begin_ns_ = now_ns;
      fault_begin_ns_ = fault_ns;
    } else if (now_ns - begin_ns_ >= look_ns) {
      looks_ = false;
      stalls_ = (fault_ns - fault_begin_ns_) * 3 > (now_ns - begin_ns_) * running;
      if (stalls_) note_push();
      return stalls_;
    }
    return false;
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
    return !stalls_ && (work_ns == 0 || work_ns >= std::min(trip_ns, cost_to_victim_ns));
  }
  // Of about the last eight.
  static void average(std::atomic<std::uint64_t>& of, std::uint64_t ns) noexcept {
    const std::uint64_t before = of.load(std::memory_order_relaxed);
    of.store(before == 0 ? ns + 1 : before - before / 8 + ns / 8, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> work_ns_{0};  // 0: unknown
  std::atomic<std::uint64_t> trip_ns_{0};
  std::uint64_t pause_ns_ = 0;
  bool stalls_ = false;  // in the last time that look() has seen
  bool looks_ = false;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t fault_begin_ns_ = 0;
};

}  // namespace musubi::task_stealing
