// The threads of this rank: they sleep until the rank's first thread gives them a region. Waits only on words
// of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/api/runtime.h"

namespace musubi::omp {

class Pool {
 public:
  // A thread's part of a region; `index` counts the rank's members from 0.
  using Part = void (*)(std::uint32_t index);

  Pool(runtime::Runtime& runtime, Part part) : runtime_(runtime), part_(part) {}

  // Makes sure that `members` threads exist, including the calling one. First thread of the rank only, as for
  // all calls below.
  void reserve(std::uint32_t members);
  // Starts members 1 .. members-1. REQUIRES: reserve(members) before; all earlier work is done.
  void start(std::uint32_t members);
  // Waits until they are done; calls `work` before it sleeps, and does not sleep as long as the result is
  // true.
  template <class Work>
  void finish(std::uint32_t members, Work work) {
    if (members <= 1) return;
    std::uint32_t done;
    while ((done = done_.load(std::memory_order_acquire)) != members - 1) {
      if (!work()) runtime_.threads().wait_local(&done_, done);
    }
  }

  // The threads tell the tool that they end; no region may follow.
  void end_threads();

  // Per rank.
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
  std::array<Worker*, threads_max> workers_{};  // [1, threads_); [0], the first thread, is unused
  std::uint32_t threads_ = 1;
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::uint32_t expected_ = 0;
  bool ends_ = false;
};

}  // namespace musubi::omp
