// Which readers of a block a rank serves itself, and to which relays it redirects the rest.
#include "coherence/core/relay_board.h"

#include <gtest/gtest.h>

#include <set>

namespace musubi::coherence {
namespace {

constexpr BlockId block{7};
constexpr unsigned places = 4;

class Relays : public testing::Test {
 protected:
  std::optional<Rank> place(std::uint64_t wanted, std::uint32_t asker, BlockId of = block,
                            unsigned links = 0) {
    return board_.place(of, LogicalTime{wanted}, Rank{asker}, places, links);
  }
  void fill(std::uint64_t version) {
    for (std::uint32_t asker = 1; asker <= places; ++asker) EXPECT_FALSE(place(version, asker)) << asker;
  }

  RelayRecord record_{};
  RelayBoard board_{record_};
};

TEST_F(Relays, FirstReadersAreServedAndKeepTheirPlaces) {
  fill(10);
  const std::optional<Rank> sent = place(10, 9);
  ASSERT_TRUE(sent);
  EXPECT_GE(sent->value, 1u);
  EXPECT_LE(sent->value, places);
  fill(11);  // again, of the next version
  EXPECT_TRUE(place(11, 9));
}

TEST_F(Relays, OtherReadersAreSpreadOverAllPlaces) {
  fill(10);
  std::set<std::uint32_t> chosen;
  for (std::uint32_t asker = 9; asker < 60; ++asker) chosen.insert(place(10, asker)->value);
  EXPECT_EQ(chosen.size(), places);
  // Askers redirected to one reader are spread again by that reader.
  chosen.clear();
  for (std::uint32_t asker = 9; asker < 200; ++asker) {
    if (place(10, asker)->value == 1) chosen.insert(place(10, asker, block, 1)->value);
  }
  EXPECT_EQ(chosen.size(), places);
}

TEST_F(Relays, AReaderThatSkipsTwoVersionsLosesItsPlace) {
  fill(10);
  for (std::uint64_t version : {11, 12}) {
    for (std::uint32_t asker = 2; asker <= places; ++asker) EXPECT_FALSE(place(version, asker));
  }
  EXPECT_FALSE(place(12, 9)) << "reader 1 has not come since version 10";
  EXPECT_TRUE(place(12, 1));
}

TEST_F(Relays, OlderVersionsAreServedWithoutAPlace) {
  fill(10);
  EXPECT_FALSE(place(9, 9));
  EXPECT_TRUE(place(10, 9));
}

TEST_F(Relays, ARecordThatIsFullGoesToAnotherBlockOnlyAfterALongTime) {
  constexpr BlockId other{7 + RelayLayout::records};
  fill(10);
  EXPECT_FALSE(place(11, 20, other));
  EXPECT_TRUE(place(11, 9)) << "still that of the first block";
  EXPECT_FALSE(place(12 + RelayBoard::ticks_kept, 20, other));
  EXPECT_FALSE(place(12 + RelayBoard::ticks_kept, 9)) << "that of the other one: served, and not noted";
  EXPECT_FALSE(board_.has_readers(block, LogicalTime{10}, LogicalTime{11}));
}

TEST_F(Relays, WithReadersAreBlocksThatWereAskedForInTheLastVersionOrThis) {
  EXPECT_FALSE(board_.has_readers(block, LogicalTime{0}, LogicalTime{10}));
  EXPECT_FALSE(place(10, 1));
  EXPECT_TRUE(board_.has_readers(block, LogicalTime{10}, LogicalTime{12}));
  EXPECT_TRUE(board_.has_readers(block, LogicalTime{9}, LogicalTime{10}));
  EXPECT_FALSE(board_.has_readers(block, LogicalTime{12}, LogicalTime{14}));
}

TEST_F(Relays, ACopyIsComingOnceItHasBeenAnnounced) {
  EXPECT_FALSE(place(10, 1));
  EXPECT_FALSE(board_.is_coming(block, LogicalTime{11}));
  board_.announce(LogicalTime{11});
  EXPECT_TRUE(board_.is_coming(block, LogicalTime{11}));
  EXPECT_FALSE(board_.is_coming(block, LogicalTime{12}));
  EXPECT_FALSE(board_.is_coming(BlockId{8}, LogicalTime{11}));
}

TEST(RelayParents, BelongToOneBlock) {
  const RelayParent parent = RelayParent::of(block, Rank{0});
  EXPECT_EQ(parent.rank_for(block), Rank{0});
  EXPECT_FALSE(parent.rank_for(BlockId{7 + RelayLayout::records}));
  EXPECT_FALSE(RelayParent{0}.rank_for(BlockId{0}));
}

}  // namespace
}  // namespace musubi::coherence
