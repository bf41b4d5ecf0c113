// Schedules over positions: every iteration once, whatever the direction and however close to the end of the
// type.
#include "omp/iteration_space.h"

#include <gtest/gtest.h>

#include <climits>

#include "base/random.h"

namespace musubi::omp {
namespace {

TEST(IterationSpace, counts_signed_loops) {
  EXPECT_EQ(10u, IterationSpace::of(0L, 10L, 1L).count);
  EXPECT_EQ(4u, IterationSpace::of(0L, 10L, 3L).count);
  EXPECT_EQ(4u, IterationSpace::of(10L, 0L, -3L).count);
  EXPECT_EQ(0u, IterationSpace::of(10L, 0L, 3L).count);
  EXPECT_EQ(0u, IterationSpace::of(0L, 10L, -3L).count);
  EXPECT_EQ(0u, IterationSpace::of(5L, 5L, 1L).count);
  EXPECT_EQ(0u, IterationSpace::of(5L, 5L, -1L).count);
  EXPECT_EQ(ULONG_MAX, IterationSpace::of(LONG_MIN, LONG_MAX, 1L).count);
  EXPECT_EQ(ULONG_MAX, IterationSpace::of(LONG_MAX, LONG_MIN, -1L).count);
  EXPECT_EQ(2u, IterationSpace::of(LONG_MAX - 10, LONG_MAX, 9L).count);
  EXPECT_EQ(3u, IterationSpace::of(LONG_MIN + 10, LONG_MIN, -4L).count);
  EXPECT_EQ(2u, IterationSpace::of(0L, LONG_MIN, LONG_MIN + 1).count);
}

TEST(IterationSpace, counts_unsigned_loops) {
  EXPECT_EQ(ULLONG_MAX, IterationSpace::of(true, 0ull, ULLONG_MAX, 1ull).count);
  EXPECT_EQ(ULLONG_MAX, IterationSpace::of(false, ULLONG_MAX, 0ull, 0ull - 1).count);
  EXPECT_EQ(0u, IterationSpace::of(true, 7ull, 7ull, 1ull).count);
  EXPECT_EQ(0u, IterationSpace::of(false, 3ull, 7ull, 0ull - 1).count);
  EXPECT_EQ(3u, IterationSpace::of(false, 9ull, 0ull, 0ull - 4).count);
}

TEST(IterationSpace, values_and_bounds) {
  const auto down = IterationSpace::of(10L, -1L, -4L);  // 10 6 2
  ASSERT_EQ(3u, down.count);
  EXPECT_EQ(2, static_cast<long>(down.value_at(2)));
  EXPECT_EQ(6, static_cast<long>(down.bound_at(1)));
  EXPECT_EQ(-1, static_cast<long>(down.bound_at(3)));
  const auto top = IterationSpace::of(LONG_MAX - 10, LONG_MAX, 9L);
  EXPECT_EQ(LONG_MAX, static_cast<long>(top.bound_at(2)));
  EXPECT_EQ(LONG_MAX - 1, static_cast<long>(top.value_at(1)));
}

TEST(IterationSpace, static_shares_cover_everything_once) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t count = random.below(100), threads = random.between(1, 20);
    std::uint64_t expected = 0;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      const Chunk share = static_share(count, threads, thread);
      ASSERT_EQ(expected, share.first);
      for (std::uint64_t i = share.first; i < share.last; ++i)
        ASSERT_EQ(thread, static_owner(count, threads, i));
      expected = share.last;
    }
    ASSERT_EQ(count, expected);
  }
}

TEST(IterationSpace, chunks_cover_everything_once_and_stop) {
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{12}}) {
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Chunk chunk = chunk_number(count, 3, i);
      ASSERT_EQ(expected, chunk.first);
      expected = chunk.last;
    }
    ASSERT_EQ(count, expected);
  }
  const Chunk beyond = chunk_number(ULONG_MAX, ULONG_MAX / 2, ULONG_MAX);
  EXPECT_EQ(beyond.first, beyond.last);
  EXPECT_EQ(ULONG_MAX, chunk_number(ULONG_MAX, ULONG_MAX / 2, 2).last);
}

TEST(IterationSpace, guided_sizes_shrink_to_the_chunk) {
  EXPECT_EQ(25u, guided_size(100, 4, 1));
  EXPECT_EQ(7u, guided_size(9, 4, 7));
  EXPECT_EQ(3u, guided_size(3, 4, 7));
  EXPECT_EQ(1u, guided_size(1, 4, 1));
  EXPECT_EQ(ULONG_MAX / 2 + 1, guided_size(ULONG_MAX, 2, 1));
}

}  // namespace
}  // namespace musubi::omp
