// The barrier of a team's members on one rank. Waits only on words of the process.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/api/runtime.h"

namespace musubi::omp {

// The rank's members of a team meet; the last one to arrive calls `last` for all.
class LocalBarrier {
 public:
  // A waiting thread calls `work` before it sleeps, and does not sleep as long as the result is true.
  template <class Last, class Work>
  void arrive(runtime::Runtime& runtime, std::uint32_t members, Last last, Work work) {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      generation_.store(generation + 1, std::memory_order_release);
      if (members > 1) runtime.threads().wake_local(&generation_);
      return;
    }
    while (generation_.load(std::memory_order_acquire) == generation) {
      if (!work()) runtime.threads().wait_local(&generation_, generation);
    }
  }

  // The same if members may have left: a waiting thread loops over `pause` until the result is false. Result:
  // whether all arrived.
  template <class Last, class Pause>
  bool arrive_or_leave(std::uint32_t members, Last last, Pause pause) {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      generation_.store(generation + 1, std::memory_order_release);
      return true;
    }
    while (generation_.load(std::memory_order_acquire) == generation) {
      if (!pause()) return false;
    }
    return true;
  }
  // Forgets members that have left. No thread may be inside.
  void reset() { arrived_.store(0, std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

}  // namespace musubi::omp
