// Detects streams among the missed blocks.
#include "coherence/migrating/misses/stream_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace musubi::coherence::migrating {
namespace {

constexpr std::uint32_t longest = 1024;  // the most blocks that a stream makes likely
constexpr std::uint64_t side_by_side = 8;

// A stream whose blocks are opened as far as the detector suggests.
class Follower {
 public:
  Follower(StreamDetector& detector, std::uint64_t first) : detector_(detector), next_(first) {}

  // Misses the next block, and opens at most `most` blocks after it. Result: the detector's suggestion.
  std::uint32_t miss(std::uint32_t most = longest) {
    const BlockId missed{next_};
    const std::uint32_t likely = detector_.missed(missed);
    const std::uint32_t opened = std::min(likely, most);
    next_ += 1 + opened;
    if (opened != 0) detector_.opened(missed, BlockId{next_});
    return likely;
  }
  void leave_out(std::uint64_t blocks) { next_ += blocks; }

 private:
  StreamDetector& detector_;
  std::uint64_t next_;
};

TEST(StreamDetector, TheFirstMissMakesNothingLikely) {
  StreamDetector detector;
  EXPECT_EQ(detector.missed(BlockId{100}), 0u);
}

TEST(StreamDetector, AStreamIsFollowedFurtherEachTimeUpToABound) {
  StreamDetector detector;
  Follower stream(detector, 100);
  std::vector<std::uint32_t> said;
  for (unsigned i = 0; i < 13; ++i) said.push_back(stream.miss());
  EXPECT_EQ(said,
            (std::vector<std::uint32_t>{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, longest, longest}));
  for (unsigned i = 0; i < 1000; ++i) ASSERT_EQ(stream.miss(), longest);
}

// The caller may open fewer blocks than were likely, or none: gates are taken, segments end.
TEST(StreamDetector, AStreamGoesOnWhereItsBlocksWereOpenedTo) {
  for (const std::uint32_t most : {0u, 1u, 5u}) {
    StreamDetector detector;
    Follower stream(detector, 100);
    std::uint32_t before = stream.miss(most);
    for (unsigned i = 0; i < 10; ++i) {
      const std::uint32_t likely = stream.miss(most);
      ASSERT_GT(likely, before) << "at most " << most;
      before = likely;
    }
  }
}

TEST(StreamDetector, ABlockThatWasOpenedIsNoLongerTheNextOne) {
  StreamDetector detector;
  Follower stream(detector, 100);
  for (unsigned i = 0; i < 4; ++i) stream.miss();  // 100, 101, 103, 107: open to 114
  EXPECT_EQ(detector.missed(BlockId{108}), 0u);
  EXPECT_EQ(detector.missed(BlockId{115}), 15u);
}

TEST(StreamDetector, AGapEndsAStream) {
  StreamDetector detector;
  Follower stream(detector, 100);
  for (unsigned i = 0; i < 6; ++i) stream.miss();
  stream.leave_out(1);
  EXPECT_EQ(stream.miss(), 0u);
  EXPECT_EQ(stream.miss(), 1u);
}

TEST(StreamDetector, BackwardsThereIsNoStream) {
  StreamDetector detector;
  for (std::uint64_t block = 1000; block > 0; --block) ASSERT_EQ(detector.missed(BlockId{block}), 0u);
}

TEST(StreamDetector, TheSameBlockAgainIsNoStream) {
  StreamDetector detector;
  for (unsigned i = 0; i < 50; ++i) ASSERT_EQ(detector.missed(BlockId{7}), 0u);
}

TEST(StreamDetector, SomeStreamsGoOnSideBySide) {
  StreamDetector detector;
  std::vector<Follower> streams;
  for (std::uint64_t i = 0; i < side_by_side; ++i) streams.emplace_back(detector, 1 + i * 1'000'000);
  std::uint32_t expected = 0;
  for (unsigned round = 0; round < 15; ++round) {
    for (Follower& stream : streams) ASSERT_EQ(stream.miss(), expected) << "round " << round;
    expected = std::min(2 * expected + 1, longest);
  }
}

TEST(StreamDetector, StreamsThatTakeTurnsAtRandomDoNotDisturbEachOther) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    StreamDetector detector;
    std::vector<Follower> streams;
    for (std::uint64_t i = 0; i < side_by_side; ++i) streams.emplace_back(detector, 1 + i * 1'000'000);
    std::vector<std::uint32_t> expected(streams.size());
    for (unsigned i = 0; i < 300; ++i) {
      const std::size_t one = random.below(streams.size());
      const std::uint32_t most = static_cast<std::uint32_t>(random.below(longest));
      ASSERT_EQ(streams[one].miss(most), expected[one]) << "seed " << seed << ", miss " << i;
      expected[one] = std::min(2 * expected[one] + 1, longest);
    }
  }
}

TEST(StreamDetector, TheFirstMissMakesNothingLikelyInBlock0Either) {
  StreamDetector detector;
  EXPECT_EQ(detector.missed(BlockId{0}), 0u);
  EXPECT_EQ(detector.missed(BlockId{1}), 1u);
}

TEST(StreamDetector, ANewStreamTakesThePlaceOfTheOneThatWasMissedLongestAgo) {
  StreamDetector detector;
  Follower old(detector, 1);
  for (unsigned i = 0; i < 5; ++i) old.miss();
  std::vector<Follower> others;
  for (std::uint64_t i = 1; i < side_by_side; ++i) others.emplace_back(detector, i * 1'000'000);
  for (Follower& other : others) other.miss();
  EXPECT_EQ(old.miss(), 31u);
  EXPECT_EQ(detector.missed(BlockId{side_by_side * 1'000'000}), 0u);  // in the place of others[0]
  EXPECT_EQ(old.miss(), 63u);
  EXPECT_EQ(others[1].miss(), 1u);
  EXPECT_EQ(others[0].miss(), 0u);
}

TEST(StreamDetector, MissesHereAndThereMakeNothingLikely) {
  StreamDetector detector;
  Random random(3);
  for (unsigned i = 0; i < 10'000; ++i) {
    ASSERT_EQ(detector.missed(BlockId{2 * random.between(1, 1'000'000)}), 0u);  // no two are adjacent
  }
}

TEST(StreamDetector, AStreamThatGoesOnOutlastsMissesBesideIt) {
  StreamDetector detector;
  Random random(4);
  Follower stream(detector, 1);
  std::uint32_t expected = 0;
  for (unsigned round = 0; round < 100; ++round) {
    ASSERT_EQ(stream.miss(), expected) << "round " << round;
    expected = std::min(2 * expected + 1, longest);
    for (std::uint64_t beside = 1; beside < side_by_side; ++beside) {
      ASSERT_EQ(detector.missed(BlockId{1'000'000'000 + 2 * random.below(1'000'000'000)}), 0u);
    }
  }
}

TEST(StreamDetector, NoRunIsLongerThanTheBoundWhateverIsMissed) {
  Random random(5);
  StreamDetector detector;
  unsigned streams = 0;
  for (unsigned i = 0; i < 100'000; ++i) {
    const std::uint64_t missed = random.below(20);
    const std::uint32_t likely = detector.missed(BlockId{missed});
    ASSERT_LE(likely, longest);
    if (likely != 0) ++streams;
    if (random.chance(30)) detector.opened(BlockId{missed}, BlockId{missed + 1 + random.below(4)});
  }
  EXPECT_GT(streams, 1000u);
}

}  // namespace
}  // namespace musubi::coherence::migrating
