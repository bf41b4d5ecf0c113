// The driver `sim` under the conformance suite: in calm and in hostile worlds.
#include <vector>

#include <array>

#include "fabric_suite.h"
#include "simulator/fabric/sim_fabric.h"

namespace musubi::fabric::conformance {
namespace {

class SimWorld final : public FabricWorld, private PromiseBase::Observer {
 public:
  SimWorld(std::uint32_t ranks, std::size_t region_bytes, const sim::LatencyModel& model,
           const sim::Hostility& hostility)
      : world_(17), network_(world_, ranks, model, hostility) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      memories_.emplace_back(region_bytes / sizeof(std::uint64_t));
      network_.node(Rank{rank}).attach({RegionId{0}, memory(Rank{rank}), region_bytes});
    }
  }

  Fabric& fabric(Rank rank) override { return network_.node(rank); }
  std::byte* memory(Rank rank) override { return reinterpret_cast<std::byte*>(memories_[rank.value].data()); }

  bool run(std::vector<Actor> actors) override {
    std::vector<Task<>> tasks;
    ended_ = 0;
    for (Actor& actor : actors) {
      tasks.push_back(actor.start());
      tasks.back().start(network_.node(actor.rank).executor(), this);
    }
    return world_.run(50'000'000) && ended_ == tasks.size();
  }

 private:
  void task_ended() noexcept override { ++ended_; }

  sim::World world_;
  sim::Network network_;
  std::vector<std::vector<std::uint64_t>> memories_;
  std::size_t ended_ = 0;
};

std::unique_ptr<FabricWorld> make_calm(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<SimWorld>(ranks, region_bytes, sim::LatencyModel::shared_memory(),
                                    sim::Hostility::calm());
}

// As make_calm, with all ranks within reach of each other's processors.
std::unique_ptr<FabricWorld> make_near(std::uint32_t ranks, std::size_t region_bytes) {
  sim::LatencyModel model = sim::LatencyModel::shared_memory();
  model.local_pointer = true;
  return std::make_unique<SimWorld>(ranks, region_bytes, model, sim::Hostility::calm());
}

sim::Hostility hostile() {
  sim::Hostility hostility;
  hostility.torn = 70;
  hostility.late = 10;
  hostility.late_completion = 10;
  hostility.busy = 30;
  hostility.at_once = 20;
  hostility.self_delayed = 50;
  hostility.slow_nodes = 30;
  hostility.freeze_per_mille = 5;
  hostility.operations_max = 4;
  return hostility;
}

std::unique_ptr<FabricWorld> make_hostile(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<SimWorld>(ranks, region_bytes, sim::LatencyModel::infiniband(), hostile());
}

// Hosts of two ranks.
std::unique_ptr<FabricWorld> make_mixed(std::uint32_t ranks, std::size_t region_bytes) {
  sim::LatencyModel model = sim::LatencyModel::infiniband();
  model.local_pointer = true;
  model.ranks_per_host = 2;
  return std::make_unique<SimWorld>(ranks, region_bytes, model, hostile());
}

INSTANTIATE_TEST_SUITE_P(Sim, FabricSuite,
                         ::testing::Values(Driver{"calm", &make_calm}, Driver{"near", &make_near},
                                           Driver{"hostile", &make_hostile}, Driver{"mixed", &make_mixed}),
                         driver_name);

}  // namespace

TEST(SimFabricDeathTest, APutOfWhatItsBatchFetchesIsRefused) {
  SimWorld world(2, 4096, sim::LatencyModel::infiniband(), sim::Hostility::calm());
  std::uint64_t word = 0;
  const std::array<Step, 2> steps{get(RegionId{0}, 0, &word, sizeof word), put(RegionId{0}, 8, &word, 1)};
  Event completion;
  EXPECT_DEATH((void)world.fabric(Rank{0}).post(Rank{1}, steps, completion), "has fetched");
}

}  // namespace musubi::fabric::conformance
