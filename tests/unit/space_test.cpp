#include "vm/space.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

namespace musubi::vm {
namespace {

Segment make_segment(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes) {
  Segment segment;
  segment.base = base;
  segment.bytes = bytes;
  segment.block_bytes = block_bytes;
  return segment;
}

class SpaceTest : public testing::Test {
 protected:
  SpaceTest() : space(3) {
    space.add(make_segment(0x100000, 10 * 4096, 8192));
    space.add(make_segment(0x400000, 3 * 4096, 8192));  // the last block is half
    Segment cyclic = make_segment(0x200000, 4 * 4096, 4096);
    cyclic.initial_home = InitialHome::cyclic;
    space.add(cyclic);
  }
  Space space;
};

TEST_F(SpaceTest, NumbersBlocksAndOffsetsAcrossSegments) {
  EXPECT_EQ(space.blocks(), 5u + 2u + 4u);
  EXPECT_EQ(space.bytes(), 10u * 4096 + 4 * 4096 + 4 * 4096);
  EXPECT_EQ(space.segments()[1].first_block, BlockId{5});
  EXPECT_EQ(space.segments()[1].blocks, 2u);
  EXPECT_EQ(space.segments()[1].offset, 10u * 4096);
  EXPECT_EQ(space.segments()[2].first_block, BlockId{7});
  EXPECT_EQ(space.segments()[2].offset, 14u * 4096);
}

TEST_F(SpaceTest, FindsTheBlockOfAnAddress) {
  EXPECT_EQ(space.block_at(0x100000), BlockId{0});
  EXPECT_EQ(space.block_at(0x100000 + 8191), BlockId{0});
  EXPECT_EQ(space.block_at(0x100000 + 8192), BlockId{1});
  EXPECT_EQ(space.block_at(0x400000 + 3 * 4096 - 1), BlockId{6});
  EXPECT_EQ(space.block_at(0x200000), BlockId{7});
}

TEST_F(SpaceTest, KnowsWhatIsOutside) {
  EXPECT_EQ(space.block_at(0x100000 - 1), std::nullopt);
  EXPECT_EQ(space.block_at(0x100000 + 10 * 4096), std::nullopt);
  EXPECT_EQ(space.block_at(0x400000 + 3 * 4096), std::nullopt) << "the missing half of the last block";
  EXPECT_EQ(space.block_at(0), std::nullopt);
  EXPECT_EQ(space.segment_at(0), nullptr);
}

TEST_F(SpaceTest, ExtentsAreInverseToAddresses) {
  for (std::uint64_t i = 0; i < space.blocks(); ++i) {
    const Extent extent = space.extent(BlockId{i});
    EXPECT_EQ(space.block_at(extent.address), BlockId{i});
    EXPECT_EQ(space.block_at(extent.address + extent.bytes - 1), BlockId{i});
    const Segment& segment = space.segment_of(BlockId{i});
    EXPECT_EQ(extent.offset - segment.offset, extent.address - segment.base);
  }
  EXPECT_EQ(space.extent(BlockId{6}).bytes, 4096u);
  EXPECT_EQ(space.extent(BlockId{5}).bytes, 8192u);
}

TEST_F(SpaceTest, InitialHomes) {
  EXPECT_EQ(space.initial_home(BlockId{4}), Rank{0});
  EXPECT_EQ(space.initial_home(BlockId{7}), Rank{0});
  EXPECT_EQ(space.initial_home(BlockId{8}), Rank{1});
  EXPECT_EQ(space.initial_home(BlockId{10}), Rank{0});

  Segment slices = make_segment(0x800000, 6 * 8192, 4096);
  slices.initial_home = InitialHome::slices;
  slices.slice_bytes = 2 * 8192;
  const std::uint64_t first = space.add(slices).first_block.value;
  EXPECT_EQ(space.initial_home(BlockId{first}), Rank{0});
  EXPECT_EQ(space.initial_home(BlockId{first + 3}), Rank{0});
  EXPECT_EQ(space.initial_home(BlockId{first + 4}), Rank{1});
  EXPECT_EQ(space.initial_home(BlockId{first + 11}), Rank{2});
}

TEST_F(SpaceTest, SegmentsWithPartsHoldOnlyThese) {
  constexpr std::size_t page = 4096;
  BlockSet parts(200);
  Segment sparse = make_segment(0x1000000, 200 * page, page);
  sparse.parts = &parts;
  const std::uint64_t first = space.add(sparse).first_block.value;
  EXPECT_EQ(space.segment_at(0x1000000 + 70 * page), nullptr);
  parts.add(63, 3);
  for (const std::uint64_t used : {63, 64, 65}) {
    EXPECT_EQ(space.block_at(0x1000000 + used * page + 5), BlockId{first + used});
  }
  for (const std::uint64_t unused : {0, 62, 66, 199}) {
    EXPECT_EQ(space.block_at(0x1000000 + unused * page), std::nullopt);
    EXPECT_NE(space.segment_around(0x1000000 + unused * page), nullptr);
  }
  EXPECT_TRUE(parts.contains_all(63, 3));
  EXPECT_FALSE(parts.contains_all(63, 4));
  EXPECT_FALSE(parts.contains_all(62, 4));
}

// More than a linear search covers, in no order of addresses.
TEST(SpaceWithManySegmentsTest, FindsThemWhileTheyComeAndGo) {
  constexpr std::size_t page = 4096, count = 500;
  Space space(2);
  std::vector<const Segment*> added;
  for (std::size_t i = 0; i < count; ++i) {
    added.push_back(
        &space.add(make_segment(0x1000000 + (i * 7 % count) * 4 * page, (1 + i % 3) * page, page)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Segment& segment = *added[i];
    EXPECT_EQ(space.index_of(segment), i);
    EXPECT_EQ(space.segment_at(segment.base), &segment);
    EXPECT_EQ(space.block_at(segment.base + segment.bytes - 1)->value, segment.first_block.value + i % 3);
    EXPECT_EQ(space.segment_at(segment.base + segment.bytes), nullptr);
    EXPECT_EQ(&space.segment_of(BlockId{segment.first_block.value + i % 3}), &segment);
  }
  for (std::size_t i = 0; i < count; i += 3) space.remove(*added[i]);
  const Space copy(space);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(space.segment_at(added[i]->base), i % 3 == 0 ? nullptr : added[i]) << i;
    EXPECT_EQ(copy.segment_at(added[i]->base) == nullptr, i % 3 == 0) << i;
    EXPECT_EQ(&space.segment_of(added[i]->first_block), added[i]) << "operations in progress still find it";
  }
}

TEST(SpaceWithManySegmentsTest, FindsOneWhileOthersCome) {
  constexpr std::size_t page = 4096;
  Space space(1);
  for (std::size_t i = 0; i < 20; ++i) space.add(make_segment(0x10000000 + i * page, page, page));
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> missed{0};
  std::thread looks([&] {
    while (!stop.load()) missed += space.segment_at(0x10000000 + 19 * page) == nullptr ? 1 : 0;
  });
  for (std::size_t i = 0; i < 2000; ++i) {
    const Segment& segment = space.add(make_segment(0x8000000 + (i % 7) * page, page, page));
    space.remove(segment);
  }
  stop.store(true);
  looks.join();
  EXPECT_EQ(missed.load(), 0u);
}

const Space* looked_at = nullptr;
constexpr std::uintptr_t looked_for = 0x1ffff000;
std::atomic<std::size_t> looks{0}, looks_in_vain{0};

void look(int) {
  looks_in_vain += looked_at->segment_at(looked_for) == nullptr ? 1 : 0;
  ++looks;
}

// The signal has stopped the thread in the middle of a change.
TEST(SpaceWithManySegmentsTest, FindsOneInAHandlerOnTheThreadThatAddsOthers) {
  constexpr std::size_t page = 4096, count = 2000;
  Space space(1);
  for (std::size_t i = 1; i <= count; ++i) space.add(make_segment(looked_for + i * page, page, page));
  space.add(make_segment(looked_for, page, page));
  looked_at = &space;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = look;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> stop{false};
  std::thread adds([&] {
    while (!stop.load() && space.segments().size() < Space::segments_max) {
      space.remove(space.add(make_segment(0x10000000, page, page)));
    }
    while (!stop.load()) std::this_thread::yield();
  });
  for (std::size_t sent = 1; sent <= 200; ++sent) {
    ::pthread_kill(adds.native_handle(), SIGUSR1);
    while (looks.load() < sent) std::this_thread::yield();
  }
  stop.store(true);
  adds.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(looks_in_vain.load(), 0u);
}

TEST(SpaceWithManySegmentsTest, HasRoomForWhatComesLater) {
  Space space(1);
  space.add(make_segment(0x1000, 8192, 4096));
  space.leave_room(3, 3 * 4096);
  EXPECT_EQ(space.blocks_max(), 5u);
  EXPECT_EQ(space.bytes_max(), 5u * 4096);
  space.add(make_segment(0x8000, 8192, 4096));
  EXPECT_EQ(space.blocks(), 4u);
  EXPECT_EQ(space.blocks_max(), 5u);
  EXPECT_DEATH(space.add(make_segment(0x10000, 8192, 4096)), "no room was left");
}

TEST(SpaceWithManySegmentsTest, HasRoomForBlocksOfTheSizeThatWasSaid) {
  Space space(1);
  space.add(make_segment(0x10000, 8192, 4096));
  space.leave_room(6, 6 * 8192, 8192);
  EXPECT_EQ(space.largest_block_bytes(), 8192u);
  space.add(make_segment(0x20000, 16384, 8192));
  EXPECT_DEATH(space.add(make_segment(0x30000, 16384, 16384)), "no room was left");
}

TEST(SpaceDeathTest, RefusesBadSegmentsAndBlocks) {
  Space space(1);
  EXPECT_DEATH(space.add(make_segment(0x1000, 4096, 3000)), "internal error");
  space.add(make_segment(0x1000, 4096, 4096));
  EXPECT_DEATH((void)space.extent(BlockId{1}), "block 1 is outside the space");
}

}  // namespace
}  // namespace musubi::vm
