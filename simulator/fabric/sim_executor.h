// The executors of a simulated node, one for each of its threads: events resume tasks; a frozen node resumes
// none. A thread may be stopped between two suspensions of its tasks, while other threads run.
#pragma once

#include <coroutine>
#include <cstdint>

#include "base/event.h"
#include "simulator/fabric/hostility.h"
#include "simulator/fabric/world.h"

namespace musubi::fabric::sim {

class SimExecutor final : public Executor, private Occurrence {
 public:
  // `model` and `hostility` are read at every use: they may change while the world runs.
  SimExecutor(World& world, std::uint32_t node, const LatencyModel& model, const Hostility& hostility);
  // Another thread of the node of `first`, which outlives this.
  explicit SimExecutor(SimExecutor& first);

  void ready(std::coroutine_handle<> task) noexcept override { ready_after(0, task); }
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override;
  void ready_after(std::uint64_t delay_ns, std::coroutine_handle<> task) noexcept;

  // No task runs on the node before this time; 0: not frozen.
  std::uint64_t frozen_until_ns() const noexcept { return first_.frozen_until_ns_; }
  void freeze(std::uint64_t duration_ns) noexcept;
  void thaw() noexcept { first_.frozen_until_ns_ = 0; }
  unsigned slowness() const noexcept { return slowness_; }

 private:
  void occur(std::uint64_t argument) noexcept override;

  World& world_;
  const LatencyModel& model_;
  const Hostility& hostility_;
  SimExecutor& first_;  // the node's first executor
  std::uint64_t frozen_until_ns_ = 0;
  unsigned slowness_ = 1;
};

// co_await think(ns): virtual time passes for this task.
struct Think {
  std::uint64_t duration_ns;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> task) const noexcept {
    static_cast<SimExecutor&>(task.promise().executor()).ready_after(duration_ns, task);
  }
  void await_resume() const noexcept {}
};
inline Think think(std::uint64_t duration_ns) {
  return Think{duration_ns};
}

}  // namespace musubi::fabric::sim
