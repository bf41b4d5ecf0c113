// The behaviour of every driver of the vm port.
#include <gtest/gtest.h>

#include "base/random.h"
#include "vm_world.h"

namespace musubi::vm {
namespace {

class VmConformance : public testing::TestWithParam<VmWorldMaker> {
 protected:
  void SetUp() override {
    if (const std::string& missing = GetParam().missing; !missing.empty()) GTEST_SKIP() << missing;
    world = GetParam().make();
  }
  Vm& vm() const { return world->vm(); }
  BlockId block(std::uint64_t i) const { return BlockId{i}; }
  // The access that the block allows, found by touching it; each refused touch must have reported the wanted
  // access to the sink.
  Access probe(BlockId id) {
    world->faults.clear();
    const bool readable = world->try_read(id);
    const bool writable = world->try_write(id);
    std::vector<SeenFault> expected;
    if (!readable) expected.push_back({id, Access::read});
    if (!writable) expected.push_back({id, Access::write});
    EXPECT_EQ(world->faults, expected) << "block " << id.value;
    return writable ? Access::write : readable ? Access::read : Access::none;
  }

  std::unique_ptr<VmWorld> world;
};

TEST_P(VmConformance, EveryBlockIsClosedAtStart) {
  for (const std::uint64_t i : {0u, 1u, 63u, 64u, 299u, 300u, 319u}) EXPECT_EQ(probe(block(i)), Access::none);
}

TEST_P(VmConformance, EachOperationGivesItsAccess) {
  vm().open_read({block(5)});
  EXPECT_EQ(probe(block(5)), Access::read);
  vm().upgrade({block(5)});
  EXPECT_EQ(probe(block(5)), Access::write);
  vm().downgrade({block(5)});
  EXPECT_EQ(probe(block(5)), Access::read);
  vm().close({block(5)});
  EXPECT_EQ(probe(block(5)), Access::none);
  vm().open_write({block(5)});
  EXPECT_EQ(probe(block(5)), Access::write);
  vm().close({block(5)});
  EXPECT_EQ(probe(block(5)), Access::none);
}

TEST_P(VmConformance, ARunChangesItsBlocksAndNoOthers) {
  vm().open_write({block(60), 10});
  vm().downgrade({block(62), 3});
  vm().close({block(63), 4});
  const Access expected[] = {Access::none,  Access::write, Access::write, Access::read,
                             Access::none,  Access::none,  Access::none,  Access::none,
                             Access::write, Access::write, Access::write, Access::none};
  for (std::uint64_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(probe(block(59 + i)), expected[i]) << i;
}

TEST_P(VmConformance, TheShortLastBlockAndTheNextSegmentAreApart) {
  ASSERT_LE(world->space().extent(block(299)).bytes, world->space().extent(block(298)).bytes);
  vm().open_write({block(298), 2});
  EXPECT_EQ(probe(block(299)), Access::write);
  EXPECT_EQ(probe(block(300)), Access::none);
  vm().open_read({block(300), 20});
  EXPECT_EQ(probe(block(300)), Access::read);
  EXPECT_EQ(probe(block(319)), Access::read);
  vm().close({block(298), 2});
  EXPECT_EQ(probe(block(299)), Access::none);
  EXPECT_EQ(probe(block(300)), Access::read);
}

TEST_P(VmConformance, AnAccessGoesOnWhenTheSinkHasOpenedTheBlock) {
  world->answer = [this](SeenFault fault) {
    if (fault.wanted == Access::read) {
      vm().open_read({fault.block});
    } else {
      vm().upgrade({fault.block});
    }
    return true;
  };
  EXPECT_TRUE(world->try_read(block(7)));
  EXPECT_TRUE(world->try_read(block(7)));
  EXPECT_TRUE(world->try_write(block(7)));
  EXPECT_TRUE(world->try_write(block(7)));
  EXPECT_EQ(world->faults, (std::vector<SeenFault>{{block(7), Access::read}, {block(7), Access::write}}));
}

TEST_P(VmConformance, WhatIsLeftOpenIsNeverAskedAbout) {
  vm().open_read({block(9)});
  vm().leave_open({block(10), 4});
  EXPECT_EQ(probe(block(9)), Access::read);
  for (std::uint64_t i = 10; i < 14; ++i) EXPECT_EQ(probe(block(i)), Access::write) << i;
  EXPECT_EQ(probe(block(14)), Access::none);
  vm().close({block(9)});
  vm().open_write({block(14)});
  vm().close({block(14)});
  for (std::uint64_t i = 10; i < 14; ++i) EXPECT_EQ(probe(block(i)), Access::write) << i;
  EXPECT_EQ(probe(block(9)), Access::none);
  EXPECT_EQ(probe(block(14)), Access::none);
}

TEST_P(VmConformance, RandomOperationsAgreeWithATable) {
  Random random(20261120);
  std::vector<Access> table(world->space().blocks(), Access::none);
  for (int step = 0; step < 4000; ++step) {
    const bool second = random.chance(10);
    const std::uint64_t begin = second ? 300 : 0;
    const std::uint64_t size = second ? 20 : 300;
    const std::uint64_t first = begin + random.below(size);
    std::uint64_t count = 1;
    while (first + count < begin + size && count < 40 && table[first + count] == table[first] &&
           random.chance(80)) {
      ++count;
    }
    const BlockRun run{block(first), count};
    Access to = Access::none;
    switch (table[first]) {
      case Access::none:
        to = random.chance(50) ? Access::read : Access::write;
        to == Access::read ? vm().open_read(run) : vm().open_write(run);
        break;
      case Access::read:
        to = random.chance(50) ? Access::none : Access::write;
        to == Access::none ? vm().close(run) : vm().upgrade(run);
        break;
      case Access::write:
        to = random.chance(50) ? Access::none : Access::read;
        to == Access::none ? vm().close(run) : vm().downgrade(run);
        break;
    }
    for (std::uint64_t i = 0; i < count; ++i) table[first + i] = to;
    const std::uint64_t looked_at = random.below(table.size());
    ASSERT_EQ(probe(block(looked_at)), table[looked_at]) << "step " << step << " block " << looked_at;
    ASSERT_EQ(probe(block(first)), to) << "step " << step << " block " << first;
  }
  for (std::uint64_t i = 0; i < table.size(); ++i) ASSERT_EQ(probe(block(i)), table[i]) << i;
}

using VmConformanceDeathTest = VmConformance;

TEST_P(VmConformanceDeathTest, AnOperationFromTheWrongStateIsOurBug) {
  vm().open_read({block(1)});
  vm().open_write({block(2)});
  EXPECT_DEATH(vm().open_read({block(0), 2}), "block 1 has access");
  EXPECT_DEATH(vm().open_write({block(2)}), "block 2 has access");
  EXPECT_DEATH(vm().upgrade({block(0)}), "block 0 has access");
  EXPECT_DEATH(vm().upgrade({block(2)}), "block 2 has access");
  EXPECT_DEATH(vm().downgrade({block(1), 2}), "block 1 has access");
  EXPECT_DEATH(vm().close({block(0)}), "block 0 has access");
  EXPECT_DEATH(vm().open_read({block(world->space().blocks())}), "outside");
}

std::vector<VmWorldMaker> all_worlds() {
  std::vector<VmWorldMaker> worlds = soft_worlds();
#ifdef MUSUBI_TEST_REAL_PAGES
  for (VmWorldMaker& world : sigsegv_worlds()) worlds.push_back(world);
  for (VmWorldMaker& world : uffd_worlds()) worlds.push_back(world);
  for (VmWorldMaker& world : checked_worlds()) worlds.push_back(world);
#endif
  return worlds;
}
std::string world_name(const testing::TestParamInfo<VmWorldMaker>& information) {
  return information.param.name;
}

INSTANTIATE_TEST_SUITE_P(Drivers, VmConformance, testing::ValuesIn(all_worlds()), world_name);
INSTANTIATE_TEST_SUITE_P(Drivers, VmConformanceDeathTest, testing::ValuesIn(all_worlds()), world_name);

}  // namespace
}  // namespace musubi::vm
