// The record at a block's home tells which lines a reader lacks.
#include "coherence/core/change_record.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace musubi::coherence {
namespace {

using Lines = std::set<std::size_t>;
using Some = std::optional<Lines>;

constexpr BlockId block{7}, other{7 + ChangeLayout::records};

LineMask mask(std::initializer_list<std::size_t> lines) {
  LineMask result;
  for (const std::size_t line : lines) result.set(line);
  return result;
}
LineMask many() {
  LineMask result;
  for (std::size_t line = 0; line < ChangeRecord::few_lines; ++line) result.set(line);
  return result;
}

Lines lines_of(const LineMask& lines) {
  Lines result;
  lines.for_each([&](std::size_t line) { result.insert(line); });
  return result;
}

// A block whose home makes versions, with or without a notice.
class Changes : public testing::Test {
 protected:
  void claim(BlockId of = block) { board_.claim(of, LogicalTime{newest_}, sections_); }
  void change(std::uint64_t to, const LineMask& lines) {
    board_.note(block, LogicalTime{newest_}, LogicalTime{to}, sections_, lines);
    newest_ = to;
    ++sections_;
  }
  void change_untold(std::uint64_t to) {
    newest_ = to;
    ++sections_;
  }
  Some since(std::uint64_t base) {
    const std::optional<LineMask> lines =
        board_.since(block, LogicalTime{base}, LogicalTime{newest_}, sections_);
    if (!lines) return std::nullopt;
    return lines_of(*lines);
  }

  std::uint64_t newest_ = 10, sections_ = 3;
  ChangeRecord record_{};
  ChangeBoard board_{record_, Hooks{}};
};

TEST_F(Changes, WhatNobodyAsksForIsNotNoted) {
  EXPECT_FALSE(board_.is_worth_noting(block));
  change(12, mask({1}));
  EXPECT_EQ(since(10), std::nullopt);
}

TEST_F(Changes, AReaderLacksTheLinesOfTheVersionsSinceItsOwn) {
  claim();
  change(12, mask({1, 500}));
  change(14, mask({63, 64}));
  EXPECT_EQ(since(10), Some({1, 63, 64, 500}));
  EXPECT_EQ(since(12), Some({63, 64}));
  EXPECT_EQ(since(13), Some({63, 64}));
  EXPECT_EQ(since(14), Some(Lines{}));
}

TEST_F(Changes, BeforeTheFirstQuestionNothingIsKnown) {
  claim();
  change(12, mask({1}));
  EXPECT_EQ(since(9), std::nullopt);
}

TEST_F(Changes, OldStepsWithFewLinesBecomeOne) {
  claim();
  for (std::uint64_t i = 1; i <= 3 * ChangeRecord::steps; ++i) change(10 + i, mask({i}));
  Lines all;
  for (std::uint64_t i = 1; i <= 3 * ChangeRecord::steps; ++i) all.insert(i);
  EXPECT_EQ(since(10), all);
  EXPECT_EQ(since(newest_ - 1), Some({3 * ChangeRecord::steps}));
}

TEST_F(Changes, AnOldStepWithManyLinesIsForgotten) {
  claim();
  change(11, many());
  for (std::uint64_t i = 2; i <= ChangeRecord::steps + 1; ++i) change(10 + i, mask({400 + i}));
  EXPECT_EQ(since(10), std::nullopt);
  ASSERT_TRUE(since(11));
  EXPECT_EQ(since(11)->size(), ChangeRecord::steps);
}

TEST_F(Changes, AVersionThatNobodyTellsOfMakesTheRecordVoid) {
  claim();
  change(12, mask({1}));
  change_untold(14);
  EXPECT_EQ(since(12), std::nullopt);
  change(16, mask({2}));  // the record is valid again from here on
  EXPECT_EQ(since(12), std::nullopt);
  EXPECT_EQ(since(14), Some({2}));
}

TEST_F(Changes, SoDoesAChangeThatKeepsItsName) {
  claim();
  change(12, mask({1}));
  change_untold(12);
  EXPECT_EQ(since(10), std::nullopt);
}

TEST_F(Changes, AChangeThatKeepsItsNameBelongsToThatVersion) {
  claim();
  change(12, mask({1}));
  change(12, mask({2}));
  EXPECT_EQ(since(10), Some({1, 2}));
  EXPECT_EQ(since(11), Some({1, 2}));
}

TEST_F(Changes, ABlockThatIsStillAskedForKeepsItsRecord) {
  claim();
  claim(other);
  EXPECT_TRUE(board_.is_worth_noting(block));
  newest_ += ChangeBoard::ticks_kept + 1;
  claim(other);
  EXPECT_TRUE(board_.is_worth_noting(other));
  EXPECT_EQ(since(10), std::nullopt);
}

TEST_F(Changes, WhatNobodyAsksForAnyMoreIsNotNoted) {
  claim();
  for (std::uint64_t i = 0; i < ChangeBoard::unasked_max; ++i) {
    EXPECT_TRUE(board_.is_worth_noting(block));
    change(12 + i, mask({1}));
  }
  EXPECT_FALSE(board_.is_worth_noting(block));
  EXPECT_FALSE(board_.is_worth_comparing(block));
  claim();
  EXPECT_TRUE(board_.is_worth_noting(block));
}

TEST_F(Changes, ComparingIsWorthTheWhileUntilVersionsChangeManyLines) {
  EXPECT_FALSE(board_.is_worth_comparing(block));
  claim();
  EXPECT_TRUE(board_.is_worth_comparing(block));
  change(11, many());
  change(12, mask({1}));
  LineMask all = many();
  all.set(LineMask::lines_max - 1);
  change(13, all);
  EXPECT_TRUE(board_.is_worth_comparing(block));
  change(14, all);
  EXPECT_FALSE(board_.is_worth_comparing(block));
}

TEST_F(Changes, ARecordThatSomebodyIsChangingTellsNothing) {
  claim();
  change(12, mask({1}));
  record_.sequence |= 1;
  EXPECT_EQ(since(10), std::nullopt);
  change(14, mask({2}));  // leaves no note
  record_.sequence ^= 1;
  EXPECT_EQ(since(10), std::nullopt);
}

TEST(LineMask, BytesHaveTheLinesThatTheyTouch) {
  EXPECT_EQ(LineMask::line_bytes(32768), 64u);
  EXPECT_EQ(LineMask::line_bytes(64), 8u);
  LineMask lines;
  lines.set_bytes(63, 65, 32768);
  lines.set_bytes(128, 192, 32768);
  EXPECT_EQ(lines_of(lines), (Lines{0, 1, 2}));
  LineMask of_short_block;  // lines of 24 bytes
  of_short_block.set_bytes(23, 48, 3 * 4096);
  EXPECT_EQ(lines_of(of_short_block), (Lines{0, 1}));
}

}  // namespace
}  // namespace musubi::coherence
