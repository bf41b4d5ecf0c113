// The marks that visiting ranks leave, and how the owning rank takes them.
#include "coherence/store/visit_board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace musubi::coherence {
namespace {

using Blocks = std::vector<std::uint64_t>;

struct Board {
  explicit Board(std::uint64_t blocks)
      : layout(blocks), words(layout.region_bytes() / 8), board(region(), layout, Hooks{}) {}

  std::byte* region() { return reinterpret_cast<std::byte*>(words.data()); }
  // A visitor's steps, from the bottom level up.
  void mark(std::uint64_t block) {
    for (unsigned level = 0; level < VisitLayout::levels; ++level, block /= VisitLayout::fanout)
      region()[layout.mark(level, block)] = std::byte{1};
    ++words[layout.visits() / 8];
  }
  Blocks taken() {
    Blocks blocks;
    VisitBoard::Walk walk(board);
    while (const auto block = walk.next()) blocks.push_back(block->value);
    return blocks;
  }

  VisitLayout layout;
  std::vector<std::uint64_t> words;
  VisitBoard board;
};

TEST(VisitBoard, GivesEachMarkOnce) {
  Board b(300'000);
  EXPECT_FALSE(b.board.some_came());
  EXPECT_TRUE(b.taken().empty());
  const Blocks marked{0, 1, 63, 64, 4095, 4096, 5000, 262'144, 299'999};
  for (const std::uint64_t block : marked) b.mark(block);
  b.mark(64);
  EXPECT_TRUE(b.board.some_came());
  EXPECT_EQ(b.taken(), marked);
  EXPECT_FALSE(b.board.some_came());
  EXPECT_TRUE(b.taken().empty());
  EXPECT_TRUE(std::all_of(b.region() + b.layout.mark(0, 0), b.region() + b.layout.region_bytes(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

// A mark set at any moment of the walk is not lost.
TEST(VisitBoard, KeepsMarksThatComeDuringAWalk) {
  for (const std::uint64_t late : {1u, 63u, 70u, 130u, 5000u, 9000u}) {
    Board b(10'000);
    b.mark(65);
    b.mark(130);
    VisitBoard::Walk walk(b.board);
    Blocks blocks;
    blocks.push_back(walk.next()->value);
    b.mark(late);
    while (const auto block = walk.next()) blocks.push_back(block->value);
    EXPECT_TRUE(b.board.some_came());
    const Blocks rest = b.taken();
    blocks.insert(blocks.end(), rest.begin(), rest.end());
    std::sort(blocks.begin(), blocks.end());
    EXPECT_TRUE(std::binary_search(blocks.begin(), blocks.end(), late)) << late;
  }
}

TEST(VisitBoard, SmallSpacesHaveAllLevels) {
  Board b(1);
  b.mark(0);
  EXPECT_EQ(b.taken(), Blocks{0});
  EXPECT_EQ(b.layout.region_bytes() % sizeof(BlockWords), 0u);
}

TEST(VisitBoard, AReleaseRaisesTheEpoch) {
  Board b(1);
  b.board.begin_release();
  b.board.begin_release();
  EXPECT_EQ(b.words[b.layout.epoch() / 8], 2u);
}

}  // namespace
}  // namespace musubi::coherence
