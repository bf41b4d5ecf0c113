// Packets bring the changes of many blocks to their home, which counts one version of each; a damaged packet
// reaches no memory outside of the blocks.
#include "coherence/home_based/packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "coherence/rules/home_words.h"
#include "coherence/store/unwritten.h"
#include "fabric/memory/steps.h"
#include "trace/counters.h"

namespace musubi::coherence {
namespace {

constexpr Rank home{0}, sender{1};
constexpr std::size_t block_bytes = 4096, blocks = 8;

class Packets : public testing::Test {
 protected:
  Packets() {
    vm::Segment segment;
    segment.base = 0x10000;
    segment.block_bytes = block_bytes;
    segment.bytes = blocks * block_bytes;
    space_.add(segment);
    const RankMemory memory{own_.data(), twin_.data(), words_.data(), entries_.data(), nullptr};
    store_ = std::make_unique<BlockStore>(space_, memory, parameters_, nullptr, counters_);
    procedures_.offer(packet_procedure, {&apply_packet, &side_});
  }

  std::array<fabric::RegionView, fabric::region_count_max> regions() {
    std::array<fabric::RegionView, fabric::region_count_max> regions{};
    regions[words_region.value] = {reinterpret_cast<std::byte*>(home_words_.data()),
                                   blocks * sizeof(BlockWords)};
    regions[private_region.value] = {home_.data(), blocks * block_bytes};
    return regions;
  }
  void post(Packet& packet) {
    const auto memory = regions();
    fabric::perform({home, memory, procedures_}, sender, packet.steps());
    ++posted_;
  }
  template <class Pieces>
  void add(Packet& packet, Pieces& pieces, const Block& block) {
    while (!packet.add(pieces, block)) {
      post(packet);
      packet.clear();
    }
  }
  // Sends the changes of all blocks, as a release does.
  void send_all() {
    const auto packet = std::make_unique<Packet>();
    std::vector<std::byte> snapshot(block_bytes);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const Block block = store_->block(BlockId{i});
      Changes changes(*store_, block, snapshot.data(), {});
      add(*packet, changes, block);
      ASSERT_TRUE(packet->end(block));
    }
    post(*packet);
  }
  fabric::Verdict ask(std::span<const std::byte> arguments) {
    const auto memory = regions();
    std::array<std::byte, sizeof(PublishedAtHome) * Packet::blocks_max> result;
    fabric::Call call(sender, home, memory, arguments, result);
    return apply_packet(call, &side_);
  }

  vm::Space space_{2};
  Parameters parameters_;
  trace::Counters counters_;
  std::vector<std::byte> own_ = std::vector<std::byte>(blocks * block_bytes);
  std::vector<std::byte> twin_ = std::vector<std::byte>(blocks * block_bytes);
  // No packet may reach the memory after the blocks.
  std::vector<std::byte> home_ = std::vector<std::byte>(2 * blocks * block_bytes);
  std::vector<BlockWords> words_ = std::vector<BlockWords>(blocks);
  std::vector<BlockWords> home_words_ = std::vector<BlockWords>(2 * blocks);
  std::vector<Entry> entries_ = std::vector<Entry>(blocks);
  std::unique_ptr<BlockStore> store_;
  const PacketSide side_{space_, {}};
  fabric::Procedures procedures_;
  unsigned posted_ = 0;
};

TEST_F(Packets, BringAllChangesAndCountEachBlockOnce) {
  std::mt19937 random(1);
  for (unsigned round = 1; round <= 50; ++round) {
    for (unsigned i = 0; i < 200; ++i) {
      const std::size_t begin = random() % own_.size();
      const std::size_t bytes =
          std::min<std::size_t>(1 + random() % (i % 50 == 0 ? 5000 : 20), own_.size() - begin);
      for (std::size_t at = begin; at < begin + bytes; ++at) own_[at] = std::byte(random());
    }
    ASSERT_NO_FATAL_FAILURE(send_all());
    ASSERT_TRUE(std::equal(own_.begin(), own_.end(), home_.begin())) << round;
    ASSERT_EQ(own_, twin_) << round;
    for (std::size_t i = 0; i < blocks; ++i) {
      ASSERT_EQ(home_words_[i].version, round);
      ASSERT_EQ(home_words_[i].read_ts, round * rules::HomeWord::one_tick);
    }
  }
}

TEST_F(Packets, TakeFewWordsOfManyBlocksInOne) {
  for (std::size_t at = 0; at < own_.size(); at += 256) own_[at] = std::byte{1};
  ASSERT_NO_FATAL_FAILURE(send_all());
  EXPECT_EQ(posted_, 1u);
}

// Between them lie words of other ranks.
TEST_F(Packets, BringTheWordsStoredAndNoOther) {
  const Block block = store_->block(BlockId{2});
  fill_with_unwritten(*store_, block);
  const std::uint64_t value = 0x0123456789abcdefu;
  std::memcpy(block.own + 24, &value, sizeof value);
  std::memcpy(block.own + 4092, &value, 4);
  std::fill(home_.begin(), home_.end(), std::byte{7});
  const auto packet = std::make_unique<Packet>();
  WrittenWords words(*store_, block);
  ASSERT_TRUE(packet->add(words, block));
  ASSERT_TRUE(packet->end(block));
  post(*packet);
  for (std::size_t at = 0; at < home_.size(); ++at) {
    const std::size_t in_block = at - 2 * block_bytes;
    const std::size_t begin = in_block < 4092 ? 24 : 4092, end = in_block < 4092 ? 32 : 4096;
    const bool is_stored = begin <= in_block && in_block < end;
    ASSERT_EQ(home_[at], is_stored ? std::byte(value >> (in_block - begin) * 8) : std::byte{7}) << at;
  }
  EXPECT_EQ(packet->published(0).version, 0u);
  EXPECT_TRUE(WrittenWords(*store_, block).next().empty());
}

TEST_F(Packets, CompleteABlockAroundTheWordsStored) {
  const Block block = store_->block(BlockId{1});
  fill_with_unwritten(*store_, block);
  const std::uint64_t value = 5;
  std::memcpy(block.own + 8, &value, sizeof value);
  const std::vector<std::byte> remote(block_bytes, std::byte{9});
  fill_unwritten_from(*store_, block, remote.data());
  for (std::size_t at = 0; at < block_bytes; ++at) {
    ASSERT_EQ(block.own[at], at >= 8 && at < 16 ? std::byte(value >> (at - 8) * 8) : std::byte{9}) << at;
    ASSERT_EQ(block.published[at], std::byte{9});
  }
}

// Cut off anywhere, or with any byte changed.
TEST_F(Packets, AreCheckedBeforeTheyAreStored) {
  for (std::size_t at = 100; at < 2 * block_bytes; at += 1000) own_[at] = std::byte{1};
  const auto packet = std::make_unique<Packet>();
  std::vector<std::byte> snapshot(block_bytes);
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Block block = store_->block(BlockId{i});
    Changes changes(*store_, block, snapshot.data(), {});
    ASSERT_TRUE(packet->add(changes, block) && packet->end(block));
  }
  const fabric::Step call = packet->steps().back();
  const std::span whole(static_cast<const std::byte*>(call.arguments), call.operand);
  EXPECT_NE(ask(whole), fabric::malformed);
  std::size_t refused = 0;
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes)
    refused += ask(whole.first(bytes)) == fabric::malformed;
  EXPECT_GE(refused, whole.size() - 2);  // one may end between the records
  std::mt19937 random(2);
  for (unsigned round = 0; round < 20000; ++round) {
    std::vector<std::byte> damaged(whole.begin(), whole.end());
    for (unsigned i = 0; i <= random() % 3; ++i) damaged[random() % damaged.size()] = std::byte(random());
    ask(damaged);
  }
  const auto after_blocks = home_.begin() + blocks * block_bytes;
  EXPECT_TRUE(std::all_of(after_blocks, home_.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  for (std::size_t i = blocks; i < 2 * blocks; ++i) EXPECT_EQ(home_words_[i].version, 0u);
}

}  // namespace
}  // namespace musubi::coherence
