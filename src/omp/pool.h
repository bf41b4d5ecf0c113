// The threads of this rank: they sleep until the rank's first thread hands them a region. All waiting is
// local to the rank, on words of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/runtime.h"

namespace musubi::omp {

// The rank's members of a team meet; the last one does something on behalf of all.
class LocalBarrier {
 public:
  template <class Last>
  void arrive(runtime::Runtime& runtime, std::uint32_t members, Last last) {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      generation_.store(generation + 1, std::memory_order_release);
      if (members > 1) runtime.threads().wake_local(&generation_);
      return;
    }
    while (generation_.load(std::memory_order_acquire) == generation)
      runtime.threads().wait_local(&generation_, generation);
  }

  // The same where the others may have gone: a thread that waits does so in a loop of `pause`, until that
  // says false. Result: whether all came.
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
  // While no thread is in it: forgets those who left.
  void reset() { arrived_.store(0, std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

class Pool {
 public:
  // What a thread does for a region; `index` counts the rank's members from 0.
  using Work = void (*)(std::uint32_t index);

  Pool(runtime::Runtime& runtime, Work work) : runtime_(runtime), work_(work) {}

  // Makes sure that `members` threads exist, the calling one included. First thread of the rank only, as for
  // all calls below.
  void reserve(std::uint32_t members);
  // Sets members 1 .. members-1 to work. REQUIRES: reserve(members) before; all earlier work is done.
  void start(std::uint32_t members);
  // Waits until they are done.
  void finish(std::uint32_t members);

  LocalBarrier& barrier() noexcept { return barrier_; }

  // Of one rank.
  static constexpr std::uint32_t threads_max = 4096;

 private:
  struct Worker {
    Pool* pool;
    std::uint32_t index;
    runtime::ThreadStack stack;
    alignas(64) std::atomic<std::uint32_t> orders{0};
  };

  static void* run(void* worker);
  void create_worker();

  runtime::Runtime& runtime_;
  Work work_;
  LocalBarrier barrier_;
  std::array<Worker*, threads_max> workers_{};  // [1, threads_); [0] stands for the first thread
  std::uint32_t threads_ = 1;
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::uint32_t expected_ = 0;
};

}  // namespace musubi::omp
