// The executor of one simulated node: tasks are resumed by events; a frozen node resumes nothing.
#pragma once

#include <coroutine>
#include <cstdint>

#include "base/executor.h"
#include "fabric/sim/hostility.h"
#include "fabric/sim/world.h"

namespace musubi::fabric::sim {

class SimExecutor final : public Executor, private Occurrence {
 public:
  // `model` and `hostility` are read at every use: they may change while the world runs.
  SimExecutor(World& world, std::uint32_t node, const LatencyModel& model, const Hostility& hostility);

  void ready(std::coroutine_handle<> task) noexcept override { ready_after(0, task); }
  void ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept override;
  void ready_after(std::uint64_t delay_ns, std::coroutine_handle<> task) noexcept;

  // Nothing runs here before then; 0: not frozen.
  std::uint64_t frozen_until_ns() const noexcept { return frozen_until_ns_; }
  void freeze(std::uint64_t duration_ns) noexcept;
  void thaw() noexcept { frozen_until_ns_ = 0; }
  unsigned slowness() const noexcept { return slowness_; }

 private:
  void occur(std::uint64_t argument) noexcept override;

  World& world_;
  const LatencyModel& model_;
  const Hostility& hostility_;
  std::uint64_t frozen_until_ns_ = 0;
  unsigned slowness_ = 1;
};

// co_await think(executor, ns): virtual time passes for this task.
struct Think {
  SimExecutor& executor;
  std::uint64_t duration_ns;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> task) const noexcept { executor.ready_after(duration_ns, task); }
  void await_resume() const noexcept {}
};
inline Think think(SimExecutor& executor, std::uint64_t duration_ns) {
  return Think{executor, duration_ns};
}

}  // namespace musubi::fabric::sim
