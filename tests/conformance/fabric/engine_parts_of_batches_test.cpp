// Batches that are sent in parts, and whose answers arrive in parts: at the bounds of the gather and of the
// buffer of replies, with threads that poll for answers before the sender goes on.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "fabric/active_messages/engine.h"
#include "queue_transport.h"

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region{0};
constexpr std::size_t region_words = std::size_t{1} << 17;
constexpr std::size_t ample = std::size_t{1} << 30;

class Losses final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss loss) noexcept override { reason = loss.reason; }
  std::string reason;
};

// Two ranks; rank 0 asks.
struct Pair {
  explicit Pair(std::size_t room = ample, std::size_t part_max = 0) : network(2, room, part_max, 1) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      memory[rank].resize(region_words);
      for (std::size_t i = 0; i < region_words; ++i) memory[rank][i] = i;
      const RegionMemory attached{region, reinterpret_cast<std::byte*>(memory[rank].data()),
                                  region_words * 8};
      engines.emplace_back(network.transport(Rank{rank}), std::span(&attached, 1), counters, WaitingPolicy{},
                           &losses);
    }
  }
  void look() {
    engines[1].progress();
    engines[0].progress();
  }
  void settle(const Event& completion) {
    for (unsigned i = 0; i < 100'000 && !completion.is_set(); ++i) look();
    EXPECT_TRUE(completion.is_set());
  }

  QueueNetwork network;
  std::array<std::vector<std::uint64_t>, 2> memory;
  trace::Counters counters;
  Losses losses;
  std::deque<ActiveMessages> engines;
};

// A get of each word `first`, first + 1 ...
struct Gets {
  Gets(std::size_t first, std::size_t count) : begin(first), results(count) {
    for (std::size_t i = 0; i < count; ++i) steps.push_back(get(region, 8 * (first + i), &results[i], 8));
  }
  bool are_right() const {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] != begin + i) return false;
    }
    return true;
  }
  std::size_t begin;
  std::vector<std::uint64_t> results;
  std::vector<Step> steps;
  Event completion;
};

TEST(PartsOfBatches, TheFirstPartIsAnsweredBeforeTheSecondLeaves) {
  Pair pair;
  std::deque<Gets> batches;
  for (std::size_t i = 0; i < 300; ++i) batches.emplace_back(9 * i, 9);
  for (Gets& batch : batches) {
    ASSERT_EQ(pair.engines[0].post(Rank{1}, batch.steps, batch.completion), Outcome::pending);
  }
  pair.network.act_inside_sends([&] { pair.look(); });
  pair.engines[0].progress();
  pair.settle(batches.back().completion);
  EXPECT_EQ(pair.losses.reason, "");
  for (const Gets& batch : batches) EXPECT_TRUE(batch.completion.is_set() && batch.are_right());
}

// Batches of all sizes around the bound, after earlier batches: 8 KiB of descriptions.
TEST(PartsOfBatches, GathersEndAtEveryStep) {
  for (std::size_t count = 480; count < 520; ++count) {
    Pair pair;
    pair.network.act_inside_sends([&] { pair.look(); });
    std::deque<Gets> batches;
    for (const std::size_t steps : {std::size_t{1}, std::size_t{3}, count, std::size_t{40}, count}) {
      batches.emplace_back(steps, steps);
    }
    for (Gets& batch : batches) pair.engines[0].post(Rank{1}, batch.steps, batch.completion);
    pair.settle(batches.back().completion);
    EXPECT_EQ(pair.losses.reason, "") << count;
    for (const Gets& batch : batches) ASSERT_TRUE(batch.completion.is_set() && batch.are_right()) << count;
  }
}

// A put of 256 bytes is two of 64 pieces; a get after each adds to one of them.
TEST(PartsOfBatches, GathersEndAtEveryPiece) {
  constexpr std::size_t put_words = 32;
  for (std::size_t count = 20; count < 80; ++count) {
    Pair pair;
    pair.network.act_inside_sends([&] { pair.look(); });
    std::vector<std::uint64_t> fresh(count * put_words), seen(count);
    std::vector<Step> steps;
    for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = ~i;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = i * put_words;
      steps.push_back(put(region, 8 * at, &fresh[at], 8 * put_words));
      steps.push_back(get(region, 8 * at, &seen[i], 8));
    }
    Event completion;
    pair.engines[0].post(Rank{1}, steps, completion);
    pair.settle(completion);
    EXPECT_EQ(pair.losses.reason, "") << count;
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], ~(i * put_words)) << count;
    ASSERT_TRUE(std::equal(fresh.begin(), fresh.end(), pair.memory[1].begin())) << count;
  }
}

// The buffer of replies holds 64 KiB.
TEST(PartsOfBatches, RepliesMayBeLargerThanTheirBuffer) {
  for (const std::size_t room : {std::size_t{1000}, ample}) {
    for (const std::size_t part_max : {std::size_t{0}, std::size_t{3000}}) {
      Pair pair(room, part_max);
      pair.network.act_inside_sends([&] { pair.look(); });
      Gets small(0, 9000);
      std::vector<std::vector<std::uint64_t>> large;
      for (const std::size_t words : {8190, 8191, 8192, 8193, 20'000, 100, 8189}) large.emplace_back(words);
      std::vector<Step> steps;
      for (std::size_t i = 0; i < large.size(); ++i) {
        steps.push_back(get(region, 8 * i, large[i].data(), 8 * large[i].size()));
      }
      Event completion;
      pair.engines[0].post(Rank{1}, small.steps, small.completion);
      pair.engines[0].post(Rank{1}, steps, completion);
      pair.settle(completion);
      EXPECT_EQ(pair.losses.reason, "");
      EXPECT_TRUE(small.completion.is_set() && small.are_right());
      for (std::size_t i = 0; i < large.size(); ++i) {
        for (std::size_t word = 0; word < large[i].size(); ++word) ASSERT_EQ(large[i][word], i + word);
      }
    }
  }
}

// A peer that forges answers is believed only as far as steps have been sent.
TEST(PartsOfBatches, AnAnswerToAStepThatHasNotLeftIsRefused) {
  constexpr std::size_t count = 600;
  Pair pair(64);  // the request lane fills up at once
  Gets batch(0, count);
  ASSERT_EQ(pair.engines[0].post(Rank{1}, batch.steps, batch.completion), Outcome::pending);
  std::deque<std::byte>& replies = pair.network.lane(Rank{1}, Rank{0}, Lane::replies).bytes;
  std::size_t answered = 0;
  for (; pair.losses.reason.empty() && answered < count; ++answered) {
    replies.insert(replies.end(), 8, std::byte{1});
    pair.engines[0].progress();
  }
  EXPECT_EQ(pair.losses.reason, "it answers what was not asked");
  EXPECT_GT(answered, 400u);
  EXPECT_LT(answered, 8192u / 16);
  EXPECT_FALSE(batch.completion.is_set());
}

}  // namespace
}  // namespace musubi::fabric::conformance
