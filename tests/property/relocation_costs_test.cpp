// Costs of accesses to relocatable pages on a network, in virtual time and in trips.
#include <gtest/gtest.h>

#include <vector>

#include "fabric/transfer.h"
#include "simulated_pages.h"

namespace musubi::global_pages {
namespace {

using fabric::sim::LatencyModel;

class RelocationCosts : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    PagesShape shape;
    shape.ranks = 4;
    shape.pages = 4;
    shape.slots = 64;
    shape.by_processor = GetParam();
    world = std::make_unique<SimulatedPages>(
        1, shape, fabric::conformance::SimBehaviour{model, fabric::sim::Hostility::calm(), 0});
  }
  SimulatedMember& member(std::uint32_t rank) { return *world->members[rank]; }
  // Virtual time of the task, alone in the world, by a thread of the rank.
  std::uint64_t duration(std::uint32_t rank, Task<> task) {
    const std::uint64_t begin = world->sim.world().now_ns();
    world->sim.play(rank, std::move(task));
    EXPECT_TRUE(world->sim.run());
    EXPECT_EQ(world->sim.waiting(), 0u);
    return world->sim.world().now_ns() - begin;
  }

  Task<> raw_get(std::uint32_t rank, Rank peer) {
    std::uint64_t value = 0;
    const fabric::Step step = fabric::get(simulated_region, 0, &value, sizeof value);
    co_await fabric::transfer(member(rank).fabric, peer, std::span{&step, 1});
  }
  Task<> get(std::uint32_t rank, std::size_t index) {
    const Page page = world->page(index);
    std::optional<Where> where = member(rank).pages->begin_at_once(page.key, Access::read);
    was_known = where.has_value();
    if (!where) where = co_await member(rank).pages->begin(page, Access::read);
    std::uint64_t value = 0;
    const fabric::Step step = fabric::get(simulated_region, where->place(), &value, sizeof value);
    co_await fabric::transfer(member(rank).fabric, where->owner(), std::span{&step, 1});
    member(rank).pages->end(page.key, Access::read, *where);
  }
  Task<> own(std::uint32_t rank, std::size_t index) {
    EXPECT_EQ(co_await member(rank).pages->own(world->page(index)), Owned::moved);
  }

  const LatencyModel model = LatencyModel::infiniband();
  std::unique_ptr<SimulatedPages> world;
  bool was_known = false;
};

TEST_P(RelocationCosts, AHitIsOneTripAndAMissTwoMore) {
  const std::uint64_t raw = duration(0, raw_get(0, Rank{1}));
  const std::uint64_t own_side = duration(0, raw_get(0, Rank{0}));
  const std::uint64_t miss = duration(0, get(0, 1));
  EXPECT_FALSE(was_known);
  EXPECT_LE(miss, 3 * raw + raw / 2 + (GetParam() ? 0 : 2 * own_side));
  EXPECT_LE(duration(0, get(0, 1)), raw + raw / 10);  // no two trips take the same time
  EXPECT_TRUE(was_known);
  // Known once and forgotten, as by an eviction: the home still has this rank as a sharer.
  member(0)
      .own_slots()[(member(0).slots->offset_of(world->page(1)) - member(0).slots_at) / sizeof(Slot)] = {};
  EXPECT_LE(duration(0, get(0, 1)), 2 * raw + raw / 2 + (GetParam() ? 0 : 2 * own_side));
  EXPECT_FALSE(was_known);
}

TEST_P(RelocationCosts, AnOwnersGetTouchesNoNetwork) {
  duration(0, own(0, 1));
  EXPECT_EQ(duration(0, get(0, 1)), duration(0, raw_get(0, Rank{0})));
  EXPECT_TRUE(was_known);
}

// Entry, bytes, entry again; and suspend for each sharer, redirect and resume for all at a time.
TEST_P(RelocationCosts, AnOwnIsFiveTripsAndOnePerSharer) {
  const std::uint64_t raw = duration(0, raw_get(0, Rank{1}));
  const std::uint64_t own_side = duration(0, raw_get(0, Rank{0}));
  duration(0, get(0, 1));
  const std::uint64_t alone = duration(0, own(0, 1));
  EXPECT_LE(alone, 3 * raw + raw / 2 + 3 * own_side);
  duration(2, get(2, 1));
  duration(3, get(3, 1));
  duration(1, get(1, 1));
  const std::uint64_t with_three = duration(2, own(2, 1));
  EXPECT_LE(with_three, (5 + 3) * raw + 2 * raw + 3 * own_side);
  EXPECT_GT(with_three, alone);
}

// Entry, suspend, bytes, redirect together with resume, entry again.
TEST_P(RelocationCosts, AnOwnFromTheOnlyOtherSharerIsFiveTrips) {
  const std::uint64_t raw = duration(0, raw_get(0, Rank{1}));
  const std::uint64_t own_side = duration(0, raw_get(0, Rank{0}));
  duration(0, own(0, 1));
  duration(2, get(2, 1));
  EXPECT_LE(duration(2, own(2, 1)), 5 * raw + raw / 2 + 3 * own_side);
}

INSTANTIATE_TEST_SUITE_P(Locks, RelocationCosts, testing::Bool(),
                         [](const auto& by) { return std::string(by.param ? "ByProcessor" : "ByFabric"); });

}  // namespace
}  // namespace musubi::global_pages
