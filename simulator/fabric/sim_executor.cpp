#include "simulator/fabric/sim_executor.h"

#include <algorithm>

namespace musubi::fabric::sim {

SimExecutor::SimExecutor(World& world, std::uint32_t node, const LatencyModel& model,
                         const Hostility& hostility)
    : Occurrence(node << 4 | 1), world_(world), model_(model), hostility_(hostility), first_(*this) {
  if (hostility.slow_nodes != 0 && world.random().chance(hostility.slow_nodes)) {
    slowness_ = static_cast<unsigned>(world.random().between(2, std::max(2u, hostility.slow_factor)));
  }
}

SimExecutor::SimExecutor(SimExecutor& first)
    : Occurrence(first.identity()),
      world_(first.world_),
      model_(first.model_),
      hostility_(first.hostility_),
      first_(first),
      slowness_(first.slowness_) {}

void SimExecutor::ready_after(std::uint64_t delay_ns, std::coroutine_handle<> task) noexcept {
  world_.after(delay_ns + model_.resume_ns * slowness_, *this,
               reinterpret_cast<std::uint64_t>(task.address()));
}

void SimExecutor::ready_after_pause(std::coroutine_handle<> task, unsigned attempt) noexcept {
  const std::uint64_t longest = (model_.latency_ns / 4 + 40) << std::min(attempt, 7u);
  ready_after(world_.random().between(longest / 2, longest) * slowness_, task);
}

void SimExecutor::freeze(std::uint64_t duration_ns) noexcept {
  first_.frozen_until_ns_ = std::max(frozen_until_ns(), world_.now_ns() + duration_ns);
}

void SimExecutor::occur(std::uint64_t argument) noexcept {
  if (hostility_.freeze_per_mille != 0 && world_.random().below(1000) < hostility_.freeze_per_mille) {
    freeze(world_.random().between(1, hostility_.freeze_ns));
  }
  if (world_.now_ns() < frozen_until_ns()) {
    world_.after(frozen_until_ns() - world_.now_ns(), *this, argument);
    return;
  }
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(argument)).resume();
}

}  // namespace musubi::fabric::sim
