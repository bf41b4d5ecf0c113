// The threads of this rank: they sleep until the rank's first thread hands them a region. All waiting is
// local to the rank, on words of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/api/runtime.h"

namespace musubi::omp {

class Pool {
 public:
  // What a thread does for a region; `index` counts the rank's members from 0.
  using Part = void (*)(std::uint32_t index);

  Pool(runtime::Runtime& runtime, Part part) : runtime_(runtime), part_(part) {}

  // Makes sure that `members` threads exist, the calling one included. First thread of the rank only, as for
  // all calls below.
  void reserve(std::uint32_t members);
  // Sets members 1 .. members-1 to work. REQUIRES: reserve(members) before; all earlier work is done.
  void start(std::uint32_t members);
  // Waits until they are done; calls `work` before it sleeps, and does not while that says true.
  template <class Work>
  void finish(std::uint32_t members, Work work) {
    if (members <= 1) return;
    std::uint32_t done;
    while ((done = done_.load(std::memory_order_acquire)) != members - 1) {
      if (!work()) runtime_.threads().wait_local(&done_, done);
    }
  }

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
  Part part_;
  std::array<Worker*, threads_max> workers_{};  // [1, threads_); [0] stands for the first thread
  std::uint32_t threads_ = 1;
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::uint32_t expected_ = 0;
};

}  // namespace musubi::omp
