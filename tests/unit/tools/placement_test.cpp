// The processors to which ranks are pinned, on made-up machines.
#include "placement.h"

#include <gtest/gtest.h>

#include "os/cpu.h"
#include "topology.h"

namespace musubi::tools {
namespace {

using Placed = std::vector<Processors>;

std::vector<Core> plain(std::uint32_t count) {
  std::vector<Core> cores;
  for (std::uint32_t i = 0; i < count; ++i) cores.push_back({0, {i}});
  return cores;
}

TEST(Placement, RanksGetCoresOfTheirOwnInOrder) {
  EXPECT_EQ(place_ranks(plain(4), 2, 2, Binding::core), (Placed{{0, 1}, {2, 3}}));
  EXPECT_EQ(place_ranks(plain(4), 2, 1, Binding::core), (Placed{{0}, {1}}));
}

TEST(Placement, NobodyIsPinnedWithoutLeaveOrWithTooFewProcessors) {
  EXPECT_TRUE(place_ranks(plain(4), 4, 1, Binding::none).empty());
  EXPECT_TRUE(place_ranks(plain(4), 5, 1, Binding::core).empty());
  EXPECT_TRUE(place_ranks({}, 1, 1, Binding::core).empty());
}

TEST(Placement, AutomaticPinsFromMoreThanHalfOfTheCores) {
  EXPECT_TRUE(place_ranks(plain(4), 2, 1, Binding::automatic).empty());
  EXPECT_EQ(place_ranks(plain(4), 3, 1, Binding::automatic).size(), 3u);
  // Three of four cores, although three of eight hardware threads.
  EXPECT_EQ(place_ranks(allowed_cores("core:4 pu:2"), 3, 1, Binding::automatic).size(), 3u);
}

TEST(Placement, DistinctCoresComeBeforeTheHardwareThreadsOfOne) {
  // Siblings have adjacent numbers here, as in clouds; by number two ranks would share a core.
  const auto adjacent = allowed_cores("core:4 pu:2");
  EXPECT_EQ(place_ranks(adjacent, 2, 1, Binding::core), (Placed{{0, 1}, {2, 3}}));
  // And here they are half of all processors apart.
  const auto apart = allowed_cores("core:2 pu:2(indexes=0,2,1,3)");
  EXPECT_EQ(place_ranks(apart, 2, 1, Binding::core), (Placed{{0, 2}, {1, 3}}));
}

TEST(Placement, WithTooFewCoresTheThreadsOfOneRankShareThem) {
  const auto cores = allowed_cores("core:2 pu:2(indexes=0,2,1,3)");
  EXPECT_EQ(place_ranks(cores, 2, 2, Binding::core), (Placed{{0, 2}, {1, 3}}));
  EXPECT_EQ(place_ranks(cores, 4, 1, Binding::core), (Placed{{0}, {2}, {1}, {3}}));
}

TEST(Placement, ARankStaysOnOneNodeWhileThatIsPossible) {
  const auto cores = allowed_cores("numa:2 core:3 pu:1");
  ASSERT_EQ(cores.size(), 6u);
  EXPECT_EQ(cores[2].node, 0u);
  EXPECT_EQ(cores[3].node, 1u);
  EXPECT_EQ(place_ranks(cores, 2, 2, Binding::core), (Placed{{0, 1}, {3, 4}}));
  // The third rank must use the remaining cores of both nodes.
  EXPECT_EQ(place_ranks(cores, 3, 2, Binding::core), (Placed{{0, 1}, {3, 4}, {2, 5}}));
}

TEST(Topology, TheCoresFoundHereAreThoseThatThisProcessMayUse) {
  std::string found(os::allowed_core_set().size(), '0');
  for (const Core& core : allowed_cores()) {
    for (const std::uint32_t processor : core.processors) {
      ASSERT_LT(processor, found.size());
      EXPECT_EQ(found[processor], '0') << "processor " << processor << " is in two cores";
      found[processor] = '1';
    }
  }
  EXPECT_EQ(found, os::allowed_core_set());
}

}  // namespace
}  // namespace musubi::tools
