// The contract of a rank's own signature, case by case (signature_property_test.cpp shows that nothing is
// lost).
#include "coherence/core/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace musubi::coherence {
namespace {

using Named = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // block and write_ts, by block

Notice notice(std::uint64_t block, std::uint64_t write_ts) {
  return {BlockId{block}, LogicalTime{write_ts}, LogicalTime{write_ts + 10}, Rank{3}};
}

struct Own {
  explicit Own(std::size_t room)
      : board((signature_bytes(room) + 7) / 8), signature(reinterpret_cast<std::byte*>(board.data()), room) {}

  void add(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> notices) {
    for (const auto& [block, write_ts] : notices) signature.add(notice(block, write_ts));
  }
  void join(std::uint64_t minimum, const std::vector<Notice>& notices) {
    signature.add_all({LogicalTime{minimum}, notices});
  }
  std::uint64_t mark() {
    return signature.read([](SignatureView) {});
  }
  Named named() const {
    Named result;
    for (const Notice& n : signature.view().notices) result.emplace_back(n.block.value, n.write_ts.value);
    std::sort(result.begin(), result.end());
    return result;
  }
  std::uint64_t minimum() const { return signature.minimum().value; }
  const SignatureBoard& head() const { return *reinterpret_cast<const SignatureBoard*>(board.data()); }

  std::vector<std::uint64_t> board;
  Signature signature;
};

TEST(Signature, IsEmptyAtFirst) {
  Own own(4);
  EXPECT_TRUE(own.signature.view().empty());
  EXPECT_EQ(own.signature.size(), 0u);
  EXPECT_EQ(own.minimum(), 0u);
}

TEST(Signature, NamesABlockOnceByItsNewestNotice) {
  Own own(4);
  own.add({{1, 10}, {2, 20}, {1, 30}, {2, 15}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 20}}));
  EXPECT_EQ(own.signature.size(), 2u);
}

TEST(Signature, ANewerNoticeBringsAllThatItSays) {
  Own own(4);
  own.signature.add({BlockId{1}, LogicalTime{10}, LogicalTime{19}, Rank{2}, true});
  own.signature.add({BlockId{1}, LogicalTime{11}, LogicalTime{12}, Rank{5}, false});
  ASSERT_EQ(own.signature.size(), 1u);
  const Notice& kept = own.signature.view().notices[0];
  EXPECT_EQ(kept.read_ts, LogicalTime{12});
  EXPECT_EQ(kept.writer, Rank{5});
  EXPECT_FALSE(kept.live);
}

TEST(Signature, AnOlderNoticeChangesNothing) {
  Own own(4);
  own.signature.add({BlockId{1}, LogicalTime{10}, LogicalTime{19}, Rank{2}, true});
  own.signature.add({BlockId{1}, LogicalTime{9}, LogicalTime{99}, Rank{5}, false});
  ASSERT_EQ(own.signature.size(), 1u);
  const Notice& kept = own.signature.view().notices[0];
  EXPECT_EQ(kept.read_ts, LogicalTime{19});
  EXPECT_EQ(kept.writer, Rank{2});
  EXPECT_TRUE(kept.live);
}

TEST(Signature, UpToItsBoundNothingIsDropped) {
  Own own(4);
  own.add({{1, 10}, {2, 20}, {3, 30}, {4, 40}});
  EXPECT_EQ(own.named(), (Named{{1, 10}, {2, 20}, {3, 30}, {4, 40}}));
  EXPECT_EQ(own.minimum(), 0u);
}

TEST(Signature, AFullOneDropsTheOldestAndRaisesTheMinimumToIt) {
  Own own(4);
  own.add({{1, 30}, {2, 10}, {3, 40}, {4, 20}, {5, 50}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {3, 40}, {4, 20}, {5, 50}}));
  EXPECT_EQ(own.minimum(), 10u);
  own.add({{2, 60}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 60}, {3, 40}, {5, 50}}));
  EXPECT_EQ(own.minimum(), 20u);
}

TEST(Signature, AFullOneTakesANewerNoticeOfABlockThatItNames) {
  Own own(2);
  own.add({{1, 10}, {2, 20}, {1, 30}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 20}}));
  EXPECT_EQ(own.minimum(), 0u);
}

TEST(Signature, AFullOneKeepsWhatIsNewerThanANoticeThatComesLate) {
  Own own(4);
  own.add({{1, 30}, {2, 20}, {3, 40}, {4, 50}, {5, 10}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 20}, {3, 40}, {4, 50}}));
  EXPECT_EQ(own.minimum(), 10u);
  own.add({{6, 7}, {7, 10}});
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 20}, {3, 40}, {4, 50}}));
  EXPECT_EQ(own.minimum(), 10u);
}

// The minimum stands for it from now on, for every rank that knew the minimum before.
TEST(Signature, ForgettingKeepsTheMinimumThatANoticeCameBelow) {
  Own own(2);
  own.join(10, {});
  const std::uint64_t mark = own.mark();
  own.add({{1, 30}, {2, 20}, {3, 7}});
  own.signature.forget(mark);
  EXPECT_EQ(own.named(), (Named{{1, 30}, {2, 20}}));
  EXPECT_EQ(own.minimum(), 10u);
}

// All notices of the dropped time are dropped: the minimum implies that none of them is named.
TEST(Signature, NoticesOfOneTimeAreDroppedTogether) {
  Own own(3);
  own.add({{1, 10}, {2, 10}, {3, 10}, {4, 20}});
  EXPECT_EQ(own.named(), (Named{{4, 20}}));
  EXPECT_EQ(own.minimum(), 10u);
}

TEST(Signature, TheMinimumIsTheTimeOfTheNewestThatWasDropped) {
  constexpr std::uint64_t room = 64, blocks = 200;
  const auto time_of = [](std::uint64_t block) { return 1000 + block * 77 % blocks; };  // each time once
  Own own(room);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    own.add({{block, time_of(block)}});
    ASSERT_LE(own.signature.size(), room);
  }
  const Named named = own.named();
  std::uint64_t dropped = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const bool is_named = std::binary_search(named.begin(), named.end(), std::pair{block, time_of(block)});
    if (!is_named) dropped = std::max(dropped, time_of(block));
  }
  ASSERT_NE(dropped, 0u);
  EXPECT_EQ(own.minimum(), dropped);
}

TEST(Signature, WithRoomForTwoItNamesTheTwoNewest) {
  Own own(2);
  own.add({{1, 10}, {2, 20}, {3, 30}});
  EXPECT_EQ(own.named(), (Named{{2, 20}, {3, 30}}));
  EXPECT_EQ(own.minimum(), 10u);
  own.add({{1, 40}, {3, 50}, {2, 60}});
  EXPECT_EQ(own.named(), (Named{{2, 60}, {3, 50}}));
  EXPECT_EQ(own.minimum(), 40u);
}

TEST(Signature, JoiningTakesTheNewestOfBoth) {
  Own own(8);
  own.add({{1, 10}, {2, 20}});
  own.join(0, {notice(2, 15), notice(1, 12), notice(3, 5)});
  EXPECT_EQ(own.named(), (Named{{1, 12}, {2, 20}, {3, 5}}));
}

TEST(Signature, JoiningTakesTheLaterMinimum) {
  Own own(8);
  own.join(10, {});
  EXPECT_EQ(own.minimum(), 10u);
  own.join(7, {});
  EXPECT_EQ(own.minimum(), 10u);
  own.join(11, {notice(1, 12)});
  EXPECT_EQ(own.minimum(), 11u);
  EXPECT_EQ(own.named(), (Named{{1, 12}}));
}

TEST(Signature, JoiningMoreThanThereIsRoomForRaisesTheMinimum) {
  Own own(2);
  own.add({{9, 5}});
  own.join(3, {notice(1, 10), notice(2, 20), notice(3, 30)});
  EXPECT_EQ(own.named(), (Named{{2, 20}, {3, 30}}));
  EXPECT_EQ(own.minimum(), 10u);
}

TEST(Signature, ForgettingDropsWhatCameBeforeTheMark) {
  Own own(8);
  own.add({{1, 10}, {2, 20}});
  const std::uint64_t mark = own.mark();
  own.add({{3, 5}, {1, 30}});
  own.signature.forget(mark);
  EXPECT_EQ(own.named(), (Named{{1, 30}, {3, 5}}));
  own.signature.forget(mark);
  EXPECT_EQ(own.named(), (Named{{1, 30}, {3, 5}}));
}

// An older notice was not added: the named notices still have the times that all ranks have seen.
TEST(Signature, ForgettingDropsABlockThatOnlyAnOlderNoticeNamedSince) {
  Own own(8);
  own.add({{1, 10}});
  const std::uint64_t mark = own.mark();
  own.add({{1, 9}, {1, 10}});
  own.signature.forget(mark);
  EXPECT_EQ(own.named(), Named{});
}

TEST(Signature, ForgettingDropsTheMinimumThatWasReadWithTheMark) {
  Own own(8);
  own.join(10, {});
  own.signature.forget(own.mark());
  EXPECT_EQ(own.minimum(), 0u);
  EXPECT_TRUE(own.signature.view().empty());
}

TEST(Signature, ForgettingKeepsAMinimumThatRoseSince) {
  Own joined(8), dropping(2);
  joined.join(10, {});
  const std::uint64_t before_join = joined.mark();
  joined.join(12, {});
  joined.signature.forget(before_join);
  EXPECT_EQ(joined.minimum(), 12u);
  dropping.add({{1, 10}});
  const std::uint64_t before_drop = dropping.mark();
  dropping.add({{2, 20}, {3, 30}});
  dropping.signature.forget(before_drop);
  EXPECT_EQ(dropping.minimum(), 10u);
  EXPECT_EQ(dropping.named(), (Named{{2, 20}, {3, 30}}));
}

TEST(Signature, BlocksAreStillFoundAfterSomeWereForgotten) {
  Own own(64);
  for (std::uint64_t block = 0; block < 32; ++block) own.add({{block, 10 + block}});
  const std::uint64_t mark = own.mark();
  Named expected;
  for (std::uint64_t block = 0; block < 64; block += 2) own.add({{block, 100 + block}});
  own.signature.forget(mark);
  for (std::uint64_t block = 0; block < 64; block += 2) {
    own.add({{block, 200 + block}, {block, 150}});
    expected.emplace_back(block, 200 + block);
  }
  EXPECT_EQ(own.named(), expected);
}

TEST(Signature, BlocksAreStillFoundAfterTheOldestWereDropped) {
  Own own(32);
  Named expected;
  for (std::uint64_t block = 0; block < 33; ++block) own.add({{block, 10 + block}});
  for (const auto& [block, write_ts] : own.named()) {
    own.add({{block, 100 + block}});
    expected.emplace_back(block, 100 + block);
  }
  EXPECT_EQ(own.named(), expected);
}

TEST(Signature, ClearingEmptiesItForNewUse) {
  Own own(2);
  own.add({{1, 10}, {2, 20}, {3, 30}});
  own.signature.clear();
  EXPECT_TRUE(own.signature.view().empty());
  EXPECT_EQ(own.signature.size(), 0u);
  own.add({{3, 4}, {1, 5}});
  EXPECT_EQ(own.named(), (Named{{1, 5}, {3, 4}}));
  EXPECT_EQ(own.minimum(), 0u);
}

TEST(Signature, ReadingShowsNoticesAndMinimum) {
  Own own(4);
  own.join(7, {notice(1, 10)});
  unsigned calls = 0;
  own.signature.read([&](SignatureView view) {
    ++calls;
    EXPECT_EQ(view.minimum, LogicalTime{7});
    ASSERT_EQ(view.notices.size(), 1u);
    EXPECT_EQ(view.notices[0].block, BlockId{1});
  });
  EXPECT_EQ(calls, 1u);
}

// The bytes that a one-sided get returns.
TEST(Signature, TheBoardHoldsTheContent) {
  Own own(2);
  own.add({{1, 10}, {2, 20}, {3, 30}});
  EXPECT_EQ(own.head().count, 2u);
  EXPECT_EQ(own.head().minimum, LogicalTime{10});
  const auto* notices = reinterpret_cast<const Notice*>(own.board.data() + sizeof(SignatureBoard) / 8);
  EXPECT_EQ(notices[0].block, BlockId{2});
  EXPECT_EQ(notices[1].block, BlockId{3});
}

TEST(Signature, TheSequenceWordIsEvenAndTellsOfEachChange) {
  Own own(2);
  std::uint64_t before = own.head().sequence;
  const auto expect_change = [&](const char* what) {
    EXPECT_EQ(own.head().sequence % 2, 0u) << what;
    EXPECT_GT(own.head().sequence, before) << what;
    before = own.head().sequence;
  };
  own.add({{1, 10}});
  expect_change("adding");
  own.join(5, {notice(2, 20), notice(3, 30)});
  expect_change("joining");
  const std::uint64_t mark = own.mark();
  EXPECT_EQ(own.head().sequence, before) << "reading changes nothing";
  own.add({{3, 25}});
  own.join(4, {notice(2, 20)});
  EXPECT_EQ(own.head().sequence, before) << "nothing of this is new";
  own.signature.forget(mark);
  expect_change("forgetting");
  own.signature.forget(own.mark());
  EXPECT_EQ(own.head().sequence, before) << "nothing is left to forget";
}

TEST(Signature, ForgettingFewNoticesCostsNothingOfALargeTable) {
  Own own(4096);
  own.add({{1, 10}, {2, 20}});
  const std::uint64_t mark = own.mark();
  own.add({{3, 30}});
  const std::uint64_t before = own.signature.index_writes();
  own.signature.forget(mark);
  EXPECT_EQ(own.signature.index_writes() - before, 4u) << "three leave the index, one comes back";
  own.signature.forget(mark);
  EXPECT_EQ(own.signature.index_writes() - before, 4u) << "nothing to forget";
  own.add({{1, 40}, {2, 50}});
  EXPECT_EQ(own.named(), (Named{{1, 40}, {2, 50}, {3, 30}}));
}

}  // namespace
}  // namespace musubi::coherence
