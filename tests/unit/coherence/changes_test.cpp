// A release puts at a fixed home exactly the bytes that differ from the twin, however many there are.
#include "coherence/home_based/puts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

namespace musubi::coherence {
namespace {

class ChangesTest : public ::testing::Test {
 protected:
  static constexpr std::size_t block_bytes = 4096;

  ChangesTest() {
    vm::Segment segment;
    segment.base = 0x10000;
    segment.block_bytes = block_bytes;
    segment.bytes = 2 * block_bytes;
    space_.add(segment);
    const RankMemory memory{own_.data(), twin_.data(), words_.data(), entries_.data(), nullptr};
    store_ = std::make_unique<BlockStore>(space_, memory, parameters_, nullptr, counters_);
  }

  // The bytes of block 1 that the puts write, applied to `home`. Result: the number of batches.
  std::size_t release_to(std::vector<std::byte>& home, Changes::Piece value = {}) {
    Block block = store_->block(BlockId{1});
    std::vector<std::byte> snapshot(block_bytes);
    Changes changes(*store_, block, snapshot.data(), value);
    std::size_t batches = 0;
    for (bool all = false; !all;) {
      Puts puts;
      all = collect(changes, block, puts);
      ++batches;
      EXPECT_LE(puts.steps().size(), Puts::of_changes_max);
      for (const fabric::Step& step : puts.steps()) {
        EXPECT_EQ(step.region, private_region);
        std::copy_n(static_cast<const std::byte*>(step.local), step.bytes,
                    home.data() + (step.offset - block_bytes));
      }
    }
    return batches;
  }
  std::byte* own() { return own_.data() + block_bytes; }
  std::byte* twin() { return twin_.data() + block_bytes; }

  vm::Space space_{2};
  Parameters parameters_;
  trace::Counters counters_;
  std::vector<std::byte> own_ = std::vector<std::byte>(2 * block_bytes);
  std::vector<std::byte> twin_ = std::vector<std::byte>(2 * block_bytes);
  std::vector<BlockWords> words_ = std::vector<BlockWords>(2);
  std::vector<Entry> entries_ = std::vector<Entry>(2);
  std::unique_ptr<BlockStore> store_;
};

TEST_F(ChangesTest, NoneOfAnUnchangedBlock) {
  std::vector<std::byte> home(block_bytes, std::byte{7});
  EXPECT_EQ(release_to(home), 1u);
  EXPECT_EQ(home, std::vector<std::byte>(block_bytes, std::byte{7}));
}

// Other ranks may have written the bytes between: they must not be put.
TEST_F(ChangesTest, LeaveTheBytesBetweenAlone) {
  for (const std::size_t at : {0u, 7u, 8u, 100u, 102u, 4095u}) own()[at] = std::byte{1};
  std::vector<std::byte> home(block_bytes, std::byte{7});
  EXPECT_EQ(release_to(home), 1u);
  for (std::size_t at = 0; at < block_bytes; ++at) {
    const bool changed = own()[at] == std::byte{1};
    EXPECT_EQ(home[at], changed ? std::byte{1} : std::byte{7}) << at;
    EXPECT_EQ(twin()[at], own()[at]) << at;
  }
}

// Stores as in a graph code: no byte of a word may survive from another rank's store of that word.
TEST_F(ChangesTest, BringWordsWhereNoStoreWasNarrower) {
  const std::uintptr_t narrow = 0x10000 + block_bytes + 42;
  StoreBound bound{.bytes = 4, .place_count = 1};
  bound.places[0] = {.begin = narrow, .end = narrow + 1, .origin = narrow, .bytes = 1};
  store_->set_store_bound(bound);
  for (const std::size_t at : {1u, 8u, 12u, 41u, 4095u}) own()[at] = std::byte{1};
  std::vector<std::byte> home(block_bytes, std::byte{7});
  EXPECT_EQ(release_to(home), 1u);
  for (std::size_t at = 0; at < block_bytes; ++at) {
    const bool is_in_word = at < 4 || (at >= 8 && at < 16) || at == 41 || at >= 4092;
    EXPECT_EQ(home[at], is_in_word ? own()[at] : std::byte{7}) << at;
  }
}

TEST_F(ChangesTest, BringWhatAnAtomicOperationHasStoredAtOnce) {
  own()[17] = own()[20] = own()[26] = std::byte{1};
  Block block = store_->block(BlockId{1});
  std::vector<std::byte> snapshot(block_bytes);
  Changes changes(*store_, block, snapshot.data(), {16, 24});
  Puts puts;
  ASSERT_TRUE(collect(changes, block, puts));
  ASSERT_EQ(puts.steps().size(), 2u);
  EXPECT_EQ(puts.steps()[0].offset, block_bytes + 16);
  EXPECT_EQ(puts.steps()[0].bytes, 8u);
  EXPECT_EQ(puts.steps()[1].offset, block_bytes + 26);
  EXPECT_EQ(puts.steps()[1].bytes, 1u);
}

// Every second byte of the block: more puts than fit one batch.
TEST_F(ChangesTest, GoOutInSeveralBatchesWhereTheyAreMany) {
  for (std::size_t at = 0; at < block_bytes; at += 2) own()[at] = std::byte{1};
  std::vector<std::byte> home(block_bytes);
  EXPECT_EQ(release_to(home), (block_bytes / 2 + Puts::of_changes_max - 1) / Puts::of_changes_max);
  EXPECT_TRUE(std::equal(home.begin(), home.end(), own()));
}

TEST_F(ChangesTest, AreFoundWhereverTheyLie) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 200; ++round) {
    for (unsigned i = 0; i < 30; ++i) {
      const std::size_t begin = random() % block_bytes;
      const std::size_t bytes = std::min<std::size_t>(1 + random() % 20, block_bytes - begin);
      for (std::size_t at = begin; at < begin + bytes; ++at) own()[at] = std::byte(random());
    }
    std::vector<std::byte> home(twin(), twin() + block_bytes);
    release_to(home);
    ASSERT_TRUE(std::equal(home.begin(), home.end(), own())) << round;
    ASSERT_TRUE(std::equal(home.begin(), home.end(), twin())) << round;
  }
}

}  // namespace
}  // namespace musubi::coherence
