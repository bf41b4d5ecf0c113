// The port's suite on the driver shm: several ranks in one process, each actor on its own thread, once with
// threads that spin first and once with threads that sleep at once; and the same under DelayedFabric.
#include <thread>

#include "fabric/delayed/delayed_fabric.h"
#include "fabric_suite.h"
#include "os/cpu.h"
#include "shm_ranks.h"
#include "thread_per_actor.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

class ShmWorld final : public FabricWorld {
 public:
  ShmWorld(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy, Distance distance = {})
      : board_(ranks), ranks_(ranks) {
    std::vector<std::thread> openers;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      openers.emplace_back([this, rank, region_bytes, policy] {
        const auto count = static_cast<std::uint32_t>(ranks_.size());
        auto opened = ranks_[rank].open(Rank{rank}, count, region_bytes, board_.of(Rank{rank}), policy);
        MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
      });
    }
    for (auto& opener : openers) opener.join();
    if (distance.round_trip_ns == 0 && distance.bits_per_second == 0) return;
    for (const ShmRank& rank : ranks_)
      far_.push_back(std::make_unique<DelayedFabric>(*rank.fabric, distance));
  }

  Fabric& fabric(Rank rank) override {
    if (!far_.empty()) return *far_[rank.value];
    return *ranks_[rank.value].fabric;
  }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

  bool run(std::vector<Actor> actors) override {
    return run_by_threads(actors, static_cast<std::uint32_t>(ranks_.size()),
                          [this](Rank rank) -> Fabric& { return fabric(rank); });
  }

 private:
  ExchangeBoard board_;
  std::vector<ShmRank> ranks_;
  std::vector<std::unique_ptr<DelayedFabric>> far_;
};

std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()));
}

std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{});
}

std::unique_ptr<FabricWorld> make_far(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{}, Distance{5'000, 0});
}

std::unique_ptr<FabricWorld> make_narrow(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{}, Distance{0, 10'000'000'000});
}

std::unique_ptr<FabricWorld> make_yielding(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{.spin_checks = 0, .yields = 50});
}

std::unique_ptr<FabricWorld> make_impatient(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{.spin_checks = 20, .yields = 1});
}

INSTANTIATE_TEST_SUITE_P(Shm, WaitingSuite,
                         ::testing::Values(Driver{"sleepy", &make_sleepy}, Driver{"yielding", &make_yielding},
                                           Driver{"impatient", &make_impatient}),
                         driver_name);

INSTANTIATE_TEST_SUITE_P(Shm, FabricSuite,
                         ::testing::Values(Driver{"by_cores", &make_by_cores, 200},
                                           Driver{"sleepy", &make_sleepy, 200}, Driver{"far", &make_far, 5},
                                           Driver{"narrow", &make_narrow, 20}),
                         driver_name);

}  // namespace
}  // namespace musubi::fabric::conformance
