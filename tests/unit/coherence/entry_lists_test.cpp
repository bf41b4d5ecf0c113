// Lists of runs of the policy `entry`: which run covers which, their elements, and where lists are stored.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "coherence/entry/board.h"
#include "coherence/entry/elements.h"
#include "coherence/entry/runs.h"

namespace musubi::coherence::entry {
namespace {

Run run(std::uint64_t block, std::uint32_t begin, std::uint32_t end, std::uint64_t clock = 1,
        std::uint32_t writer = 0, std::uint32_t time = 0) {
  return {BlockId{block}, begin, end - begin, clock, Rank{writer}, time};
}

// block:begin-end@clock
std::string text(const Runs& runs) {
  std::string all;
  for (const Run& r : runs) {
    all += std::to_string(r.block.value) + ":" + std::to_string(r.begin) + "-" + std::to_string(r.end()) +
           "@" + std::to_string(r.clock) + " ";
  }
  return all;
}

TEST(EntryRuns, TheRemainderKeepsOrderAndIsCut) {
  const Runs list{run(2, 0, 10), run(1, 4, 20), run(1, 30, 40)};
  const Runs newer{run(1, 0, 5, 9), run(1, 8, 10, 9), run(1, 18, 35, 9), run(2, 10, 12, 9)};
  EXPECT_EQ(text(remainder(list, newer)), "2:0-10@1 1:5-8@1 1:10-18@1 1:35-40@1 ");
  EXPECT_EQ(text(remainder(list, {})), text(list));
  const Runs all{run(1, 0, 50), run(2, 0, 10)};
  EXPECT_EQ(text(remainder(list, all)), "");
}

TEST(EntryRuns, WhatIsPutInFrontKeepsItsOrder) {
  Runs list{run(1, 0, 8, 3), run(0, 0, 8, 2)};
  const Runs newer{run(5, 0, 4, 7), run(1, 2, 4, 6), run(0, 0, 8, 5)};
  put_in_front(list, newer);
  EXPECT_EQ(text(list), "5:0-4@7 1:2-4@6 0:0-8@5 1:0-2@3 1:4-8@3 ");
}

TEST(EntryRuns, WhatIsKnownStaysSorted) {
  Runs known;
  lay_over(known, Runs{run(0, 4, 8, 1), run(0, 12, 16, 1)});
  lay_over(known, Runs{run(0, 0, 2, 2), run(0, 6, 14, 2)});
  EXPECT_EQ(text(known), "0:0-2@2 0:4-6@1 0:6-14@2 0:14-16@1 ");
}

TEST(EntryRuns, OnlyNewerPartsAreApplied) {
  const Runs known{run(0, 0, 4, 5, 1), run(0, 4, 8, 3, 1), run(0, 10, 12, 4, 1)};
  EXPECT_EQ(text(newest_parts(Runs{run(0, 2, 6, 4, 0), run(0, 9, 13, 4, 0)}, known)),
            "0:4-6@4 0:9-10@4 0:12-13@4 ");
  // At equal clocks the higher rank wins; a run that is already present is not added again.
  EXPECT_EQ(text(newest_parts(Runs{run(0, 0, 4, 5, 2)}, known)), "0:0-4@5 ");
  EXPECT_EQ(text(newest_parts(Runs{run(0, 0, 4, 5, 0)}, known)), "");
  EXPECT_EQ(text(newest_parts(Runs{run(0, 0, 4, 5, 1)}, known)), "");
}

using Changes = std::vector<std::pair<std::size_t, std::size_t>>;

Changes changes(std::uint32_t element_bytes, std::uint64_t block, const std::vector<std::size_t>& changed,
                std::size_t begin = 0, std::size_t end = 64) {
  vm::Segment segment;
  segment.block_bytes = 64;
  segment.element_bytes = element_bytes;
  segment.first_block = BlockId{3};
  std::array<std::byte, 64> before{}, now{};
  for (const std::size_t at : changed) now[at] = std::byte{1};
  Changes found;
  for_each_change(now.data(), before.data(), begin, end, Elements(segment, BlockId{3 + block}),
                  [&found](std::size_t from, std::size_t to) { found.emplace_back(from, to); });
  return found;
}

TEST(EntryElements, NeighboursThatChangeAreOneRun) {
  EXPECT_EQ(changes(0, 0, {0, 1, 5, 63}), (Changes{{0, 2}, {5, 6}, {63, 64}}));
  EXPECT_EQ(changes(4, 0, {0, 5, 6, 63}), (Changes{{0, 8}, {60, 64}}));
  EXPECT_EQ(changes(16, 0, {17}), (Changes{{16, 32}}));
  EXPECT_EQ(changes(4, 0, {}), Changes{});
}

TEST(EntryElements, ElementsCountFromTheSegmentAndAreCutByBlocks) {
  EXPECT_EQ(changes(12, 0, {61}), (Changes{{60, 64}}));             // bytes 60 to 72 of the segment
  EXPECT_EQ(changes(12, 1, {0, 10}), (Changes{{0, 20}}));           // 60 to 72, 72 to 84
  EXPECT_EQ(changes(100, 1, {20, 40}), (Changes{{0, 64}}));         // 0 to 100, 100 to 200
  EXPECT_EQ(changes(100, 1, {40}), (Changes{{36, 64}}));            // 100 to 200
  EXPECT_EQ(changes(0, 0, {3, 9, 20}, 8, 16), (Changes{{9, 10}}));  // within a part
}

TEST(EntryBoard, ListsGrowAndTheirMemoryIsUsedAgain) {
  const Sizes sizes{2, 4, 3, 64 * 1024};
  std::vector<std::uint64_t> memory(Layout::of(sizes).bytes / sizeof(std::uint64_t));
  Board board(sizes, reinterpret_cast<std::byte*>(memory.data()), nullptr);
  ListHead& first = board.head(board.head_of_lock(LockId{0}));
  ListHead& second = board.head(board.head_of_lock(LockId{1}));
  EXPECT_TRUE(board.load(first).empty());
  Runs runs;
  for (std::uint32_t i = 0; i < 40; ++i) {
    runs.push_back(run(1, 2 * i, 2 * i + 1, i));
    board.store(first, runs);
    ASSERT_EQ(text(board.load(first)), text(runs));
  }
  const std::uint64_t small_list = board.layout().lists;
  board.store(second, Runs{run(2, 0, 8)});
  EXPECT_EQ(second.offset, small_list);  // the first one has outgrown it
  EXPECT_EQ(text(board.load(first)), text(runs));
  board.store(first, {});
  EXPECT_TRUE(board.load(first).empty());
}

class Counting final : public Overflow {
 public:
  void on_overflow() noexcept override { ++times; }
  unsigned times = 0;
};

TEST(EntryBoardDeathTest, ListsThatAreTooLongAreTold) {
  const Sizes sizes{1, 1, 1, 1024};
  std::vector<std::uint64_t> memory(Layout::of(sizes).bytes / sizeof(std::uint64_t));
  Counting counting;
  Board board(sizes, reinterpret_cast<std::byte*>(memory.data()), &counting);
  ListHead& head = board.head(board.head_of_lock(LockId{0}));
  Runs runs;
  for (std::uint32_t i = 0; i < 16; ++i) runs.push_back(run(0, 2 * i, 2 * i + 1));
  board.store(head, runs);
  EXPECT_EQ(counting.times, 0u);
  for (std::uint32_t i = 16; i < 33; ++i) runs.push_back(run(0, 2 * i, 2 * i + 1));
  EXPECT_DEATH(board.store(head, runs), "no room for a list");
}

}  // namespace
}  // namespace musubi::coherence::entry
