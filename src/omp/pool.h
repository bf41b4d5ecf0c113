// The threads of this rank: they sleep until the rank's first thread gives them a region. Waits only on words
// of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "omp/tasks/bell.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

class Pool {
 public:
  class Worker;
  // A thread's part of a region; `index` counts the rank's members from 0. Ends with worker.rest().
  using Part = void (*)(std::uint32_t index, Worker& worker);

  Pool(runtime::Runtime& runtime, Part part) : runtime_(runtime), part_(part) {}

  // Makes sure that `members` threads exist, including the calling one. First thread of the rank only, as for
  // all calls below.
  void reserve(std::uint32_t members);
  // Starts members 1 .. members-1. REQUIRES: reserve(members) before; all earlier work is done.
  void start(std::uint32_t members);
  // Whether they are done with their parts.
  bool are_done(std::uint32_t members) const noexcept {
    return done_.load(std::memory_order_acquire) == members - 1;
  }

  // Per rank.
  static constexpr std::uint32_t threads_max = 4096;

 private:
  static void* run(void* worker);
  void create_worker();

  runtime::Runtime& runtime_;
  Part part_;
  std::array<Worker*, threads_max> workers_{};  // [1, threads_); [0], the first thread, is unused
  std::uint32_t threads_ = 1;
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::uint32_t expected_ = 0;
};

class Pool::Worker {
 public:
  // Its part is done. Calls `wait`(over), which may return once over() is true: the thread has got orders;
  // `bell` is rung for that.
  template <class Wait>
  void rest(Bell& bell, Wait wait) {
    bell_ = &bell;
    is_resting_.store(true);
    count_as_done();
    wait([this] { return orders_.load(std::memory_order_acquire) != served_; });
    is_resting_.store(false);
  }

 private:
  friend class Pool;
  void count_as_done();

  Pool* pool_;
  std::uint32_t index_;
  runtime::ThreadStack stack_;
  std::uint32_t served_ = 0;
  Bell* bell_ = nullptr;  // read by the starting thread while the worker rests
  std::atomic<bool> is_resting_{false};
  alignas(64) std::atomic<std::uint32_t> orders_{0};
};

}  // namespace musubi::omp
