// The conformance suite of the fabric port. A driver takes part by one file that instantiates it:
//
//   INSTANTIATE_TEST_SUITE_P(shm, FabricSuite, ::testing::Values(Driver{"shm", &make_shm_world, 20}),
//   driver_name);
//
// and one musubi_test line with that file, fabric_suite.cpp and calls_suite.cpp. Tests are tasks, so that
// they run on threads and in virtual time alike.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "fabric/fabric.h"

namespace musubi::fabric::conformance {

// One task that runs on a rank. `start` calls a named coroutine.
struct Actor {
  Rank rank;
  std::function<Task<>()> start;
};

// Some ranks, joined by the driver under test, each with region 0 of region_bytes zero bytes.
class FabricWorld {
 public:
  virtual ~FabricWorld() = default;

  virtual Fabric& fabric(Rank rank) = 0;
  // The rank's own region 0.
  virtual std::byte* memory(Rank rank) = 0;
  // Runs all actors at once, to their ends, and delivers messages. Result: false when some did not end within
  // the world's patience (the test has failed, the world is unusable).
  virtual bool run(std::vector<Actor> actors) = 0;
};

struct Driver {
  const char* name;
  std::unique_ptr<FabricWorld> (*make)(std::uint32_t ranks, std::size_t region_bytes);
  // For contended tests: real threads need many repetitions for races to happen, virtual time does not.
  unsigned repetitions = 1;
};

inline std::string driver_name(const ::testing::TestParamInfo<Driver>& info) {
  return info.param.name;
}

class FabricSuite : public ::testing::TestWithParam<Driver> {
 protected:
  static constexpr std::size_t region_bytes = std::size_t{1} << 20;
  static constexpr RegionId region{0};

  void join(std::uint32_t ranks) {
    world_.reset();
    world_ = GetParam().make(ranks, region_bytes);
  }
  Fabric& fabric(std::uint32_t rank) { return world_->fabric(Rank{rank}); }
  std::byte* memory(std::uint32_t rank) { return world_->memory(Rank{rank}); }
  std::uint64_t word(std::uint32_t rank, std::size_t offset) {
    return *reinterpret_cast<std::uint64_t*>(memory(rank) + offset);
  }
  void run(std::vector<Actor> actors) {
    ASSERT_TRUE(world_->run(std::move(actors))) << "some actor did not end";
  }

  std::unique_ptr<FabricWorld> world_;
};

}  // namespace musubi::fabric::conformance
