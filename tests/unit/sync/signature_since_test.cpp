// A rank learns everything that is new to it in another rank's signature, from one state.
#include "sync/signature_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "coherence/regions.h"

namespace musubi::sync {
namespace {

using coherence::Notice;
using coherence::SignatureBoard;

constexpr std::size_t notices_max = 300;
constexpr std::uint64_t offset = 64;

struct Told {
  fabric::Verdict verdict = fabric::no_verdict;
  SignatureBoard board{};
  std::vector<std::uint64_t> blocks;
};

class SignatureSince : public ::testing::Test {
 protected:
  void add(std::uint64_t block, std::uint64_t write_ts) {
    signature_.add({BlockId{block}, LogicalTime{write_ts}, LogicalTime{write_ts}, Rank{2}});
  }
  Told ask(std::span<const std::byte> arguments, std::size_t room) {
    std::array<fabric::RegionView, fabric::region_count_max> regions{};
    regions[coherence::control_region.value] = {reinterpret_cast<std::byte*>(memory_.data()),
                                                memory_.size() * sizeof(std::uint64_t)};
    std::vector<std::byte> result(room);
    fabric::Call call(Rank{0}, Rank{1}, regions, arguments, result);
    Told told;
    told.verdict = signature_since(call, &place_);
    if (call.result_bytes() >= sizeof told.board) std::memcpy(&told.board, result.data(), sizeof told.board);
    for (std::size_t at = sizeof told.board; at < call.result_bytes(); at += sizeof(Notice)) {
      Notice notice;
      std::memcpy(&notice, result.data() + at, sizeof notice);
      told.blocks.push_back(notice.block.value);
    }
    return told;
  }
  Told since(std::uint64_t stamp) {
    const SinceRequest request{stamp};
    return ask(std::as_bytes(std::span(&request, 1)), coherence::notice_bytes(since_notices_max));
  }

  std::vector<std::uint64_t> memory_ =
      std::vector<std::uint64_t>((offset + coherence::signature_bytes(notices_max)) / 8);
  coherence::Signature signature_{reinterpret_cast<std::byte*>(memory_.data()) + offset, notices_max};
  const SignaturePlace place_{offset, notices_max, {}};
};

TEST_F(SignatureSince, TellsWhatWasAddedOrGotANewerNotice) {
  add(1, 10);
  add(2, 20);
  const Told all = since(0);
  EXPECT_EQ(all.verdict, since::complete);
  EXPECT_EQ(all.blocks, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(since(all.board.stamp).blocks, std::vector<std::uint64_t>{});
  add(1, 30);
  add(3, 5);
  add(2, 15);  // older than the notice already there
  EXPECT_EQ(since(all.board.stamp).blocks, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(since(0).blocks.size(), 3u);
}

TEST_F(SignatureSince, TellsTheMinimumOfWhatWasDropped) {
  for (std::uint64_t block = 1; block <= notices_max; ++block) add(block, block);
  const std::uint64_t stamp = since(0).board.stamp;
  add(1000, 1000);
  const Told told = since(stamp);
  EXPECT_EQ(told.blocks, std::vector<std::uint64_t>{1000});
  EXPECT_EQ(told.board.minimum, signature_.minimum());
  EXPECT_GT(told.board.minimum, LogicalTime{});
}

TEST_F(SignatureSince, SaysHowManyThereAreWhenTheyDoNotFit) {
  for (std::uint64_t block = 1; block <= since_notices_max + 1; ++block) add(block, block);
  const Told told = since(0);
  EXPECT_EQ(told.verdict, since::too_many);
  EXPECT_EQ(told.board.count, since_notices_max + 1);
  EXPECT_EQ(since(1).verdict, since::complete);
}

TEST_F(SignatureSince, IsAskedAgainWhileTheSignatureChanges) {
  add(1, 10);
  ++memory_[offset / sizeof(std::uint64_t)];
  EXPECT_EQ(since(0).verdict, since::changing);
}

TEST_F(SignatureSince, RefusesWhatIsNoRequest) {
  EXPECT_EQ(ask({}, coherence::notice_bytes(since_notices_max)).verdict, fabric::malformed);
}

}  // namespace
}  // namespace musubi::sync
