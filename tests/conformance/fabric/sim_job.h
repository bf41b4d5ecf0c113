// Ranks over the simulated fabric, for tests of the layers above it: tasks on them, in any number of threads,
// and a network as bad as the seed demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/task.h"
#include "simulator/fabric/sim_fabric.h"

namespace musubi::fabric::conformance {

struct SimBehaviour {
  sim::LatencyModel model = sim::LatencyModel::infiniband();
  sim::Hostility hostility = sim::Hostility::calm();
  unsigned interruption = 0;  // SimFabric::allow_interruptions
};

// Each kind of harm or none of it, in every mixture.
inline SimBehaviour draw_behaviour(Random& random) {
  const auto one_of = [&random](auto... values) {
    const unsigned all[]{static_cast<unsigned>(values)...};
    return all[random.below(sizeof...(values))];
  };
  const sim::LatencyModel models[]{sim::LatencyModel::shared_memory(),
                                   sim::LatencyModel::infiniband(),
                                   sim::LatencyModel::tcp_25_gbe(),
                                   {50, 3000, 5, 5, 5, 0, 0}};
  SimBehaviour b;
  b.model = models[random.below(std::size(models))];
  b.hostility.torn = one_of(0, 20, 100);
  b.hostility.late = one_of(0, 2, 20);
  b.hostility.late_factor = one_of(3, 20, 100);
  b.hostility.late_completion = one_of(0, 5, 30);
  b.hostility.busy = one_of(0, 5, 40);
  b.hostility.at_once = one_of(0, 0, 10, 60);
  b.hostility.self_delayed = one_of(0, 30, 100);
  b.hostility.slow_nodes = one_of(0, 0, 30);
  b.hostility.freeze_per_mille = one_of(0, 0, 2, 20);
  b.hostility.operations_max = one_of(0, 0, 1, 3);
  b.interruption = one_of(0, 0, 2, 10);
  return b;
}

class SimJob final : private PromiseBase::Observer {
 public:
  SimJob(std::uint64_t seed, std::uint32_t ranks, const SimBehaviour& behaviour)
      : world_(seed), network_(world_, ranks, behaviour.model, behaviour.hostility) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      node(rank).allow_interruptions(behaviour.interruption);
    }
  }

  std::uint32_t ranks() const { return network_.ranks(); }
  sim::SimFabric& node(std::uint32_t rank) { return network_.node(Rank{rank}); }
  sim::World& world() { return world_; }

  // In a thread of its own. The task lives as long as the job.
  void play(std::uint32_t rank, Task<> task) {
    tasks_.push_back(std::move(task));
    tasks_.back().start(node(rank).add_thread(), this);
  }
  // Runs until no event is left. Result: whether that happened within the job's patience.
  bool run(std::uint64_t events_max = 5'000'000) { return world_.run(events_max); }
  // The number of tasks that still wait, for ever if no event is left.
  std::size_t waiting() const { return tasks_.size() - ended_; }

 private:
  void task_ended() noexcept override { ++ended_; }

  sim::World world_;
  sim::Network network_;
  std::vector<Task<>> tasks_;
  std::size_t ended_ = 0;
};

}  // namespace musubi::fabric::conformance
