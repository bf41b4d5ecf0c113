// Whether stealing pays: the processor time of stolen tasks against the cost of getting them, and against the
// time that they spend in faults, for their data. A rank whose stolen tasks are fine tries again after pauses
// that double; one whose stolen tasks stall rests in proportion to the time that was lost.
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
  enum class Verdict : std::uint8_t { unknown, pays, stalls };
  // From now on `running` threads run stolen tasks; `fault_ns` is what all faults of the rank have taken so
  // far. Judges the stolen work of every `look_ns` or more: it stalls if faults took more than a third of its
  // time. What a task reads from another rank, that rank must mostly read back, so that the work itself must
  // take longer.
  Verdict look(std::uint64_t now_ns, std::uint64_t look_ns, std::uint64_t fault_ns,
               std::uint32_t running) noexcept {
    busy_ns_ += (now_ns - seen_ns_) * running_;
    if (running_ != 0) stalled_ns_ += fault_ns - seen_fault_ns_;
    seen_ns_ = now_ns;
    seen_fault_ns_ = fault_ns;
    running_ = running;
    if (busy_ns_ < look_ns) return Verdict::unknown;
    const bool stalls = stalled_ns_ * 3 > busy_ns_;
    if (stalls) {
      const std::uint64_t until_ns = std::max(rest_until_ns_, now_ns) + rest_per_stall * busy_ns_;
      rest_until_ns_ = std::min(until_ns, now_ns + longest_rest_ns);
    }
    busy_ns_ = stalled_ns_ = 0;
    return stalls ? Verdict::stalls : Verdict::pays;
  }
  // Until then the rank leaves stolen work alone.
  std::uint64_t rest_until_ns() const noexcept { return rest_until_ns_; }
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
  // So that work that stalls, which costs its victim about as much time, costs a few percent.
  static constexpr std::uint64_t rest_per_stall = 64;
  static constexpr std::uint64_t longest_rest_ns = 1'000'000'000;

  bool pays() const noexcept {
    const std::uint64_t work_ns = work_ns_.load(std::memory_order_relaxed);
    const std::uint64_t trip_ns = trip_ns_.load(std::memory_order_relaxed);
    return work_ns == 0 || work_ns >= std::min(trip_ns, cost_to_victim_ns);
  }
  // Of about the last eight.
  static void average(std::atomic<std::uint64_t>& of, std::uint64_t ns) noexcept {
    const std::uint64_t before = of.load(std::memory_order_relaxed);
    of.store(before == 0 ? ns + 1 : before - before / 8 + ns / 8, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> work_ns_{0};  // 0: unknown
  std::atomic<std::uint64_t> trip_ns_{0};
  std::uint64_t pause_ns_ = 0;
  // Of stolen work that has not been judged; as it was at the last look.
  std::uint64_t busy_ns_ = 0, stalled_ns_ = 0;
  std::uint64_t seen_ns_ = 0, seen_fault_ns_ = 0;
  std::uint32_t running_ = 0;
  std::uint64_t rest_until_ns_ = 0;
};

}  // namespace musubi::task_stealing
