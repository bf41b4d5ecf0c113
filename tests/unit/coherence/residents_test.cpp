// The queues of blocks that take memory at a rank.
#include "coherence/store/residents.h"

#include <gtest/gtest.h>

namespace musubi::coherence {
namespace {

TEST(Residents, ComeOutInTheOrderInWhichTheyCame) {
  Residents residents(10);
  Entry entries[10]{};
  for (const std::uint64_t block : {3u, 1u, 7u})
    residents.add(BlockId{block}, entries[block], 64, Residence::fresh);
  residents.add(BlockId{1}, entries[1], 64, Residence::home);  // is in a queue already
  residents.add(BlockId{5}, entries[5], 32, Residence::home);
  EXPECT_EQ(residents.blocks(Residence::fresh), 3u);
  EXPECT_EQ(residents.blocks(Residence::home), 1u);
  EXPECT_EQ(residents.bytes(), 3 * 64u + 32u);
  EXPECT_EQ(residents.copy_bytes(), 3 * 64u);
  for (const std::uint64_t block : {3u, 1u, 7u}) {
    EXPECT_EQ(residents.take(Residence::fresh), BlockId{block});
    residents.leave(entries[block], 64);
  }
  EXPECT_EQ(residents.take(Residence::fresh), std::nullopt);
  EXPECT_EQ(residents.bytes(), 32u);
  EXPECT_EQ(residents.copy_bytes(), 0u);
}

TEST(Residents, MayComeAgainAfterTheyHaveLeft) {
  Residents residents(4);
  Entry entries[4]{};
  for (int turn = 0; turn < 3; ++turn) {
    for (std::uint64_t block = 0; block < 4; ++block)
      residents.add(BlockId{block}, entries[block], 8, Residence::on_trial);
    for (std::uint64_t block = 0; block < 4; ++block) {
      EXPECT_EQ(residents.take(Residence::on_trial), BlockId{block});
      residents.leave(entries[block], 8);
    }
    EXPECT_EQ(residents.blocks(Residence::on_trial), 0u);
  }
}

}  // namespace
}  // namespace musubi::coherence
