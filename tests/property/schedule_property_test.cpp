// Schedules: every iteration of any loop is done exactly once, whatever its type, direction and chunks.
#include <gtest/gtest.h>

#include <climits>
#include <set>

#include "omp/iteration_space.h"
#include "seeds.h"

namespace musubi::omp {
namespace {

// A loop that runs at most some thousand times, often at an end of its type.
struct SignedLoop {
  long start, end, step;
};
SignedLoop draw_loop(Random& random) {
  const long ends[] = {0, LONG_MAX, LONG_MIN, LONG_MAX - 7, LONG_MIN + 7};
  const auto step = static_cast<long>(random.next() >> random.between(1, 63) | 1);
  const auto steps = static_cast<unsigned long>(random.below(1000));
  const long anchor = random.chance(50) ? ends[random.below(5)] : static_cast<long>(random.next());
  const bool up = random.chance(50);
  // The other bound as far away as it may be.
  long other = anchor;
  for (unsigned long i = 0; i < steps; ++i) {
    long next = 0;
    if (up ? __builtin_sub_overflow(other, step, &next) : __builtin_add_overflow(other, step, &next)) break;
    other = next;
  }
  return up ? SignedLoop{other, anchor, step} : SignedLoop{other, anchor, -step};
}

TEST(ScheduleProperty, SpacesCountWhatTheLoopRuns) {
  property::for_all(2000, [](Random& random) {
    const SignedLoop loop = draw_loop(random);
    const IterationSpace space = IterationSpace::of(loop.start, loop.end, loop.step);
    std::uint64_t count = 0;
    long value = loop.start;
    while (loop.step > 0 ? value < loop.end : value > loop.end) {
      ASSERT_EQ(static_cast<long>(space.value_at(count)), value);
      ++count;
      if (__builtin_add_overflow(value, loop.step, &value)) break;
    }
    ASSERT_EQ(space.count, count) << loop.start << ' ' << loop.end << ' ' << loop.step;
    ASSERT_EQ(static_cast<long>(space.bound_at(count)), loop.end);
  });
}

TEST(ScheduleProperty, SharesAndChunksTileTheSpace) {
  property::for_all(2000, [](Random& random) {
    const std::uint64_t count = random.chance(30) ? random.next() : random.below(3000);
    const std::uint64_t threads = random.between(1, 40);
    std::uint64_t next = 0;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      const Chunk share = static_share(count, threads, thread);
      ASSERT_EQ(share.first, next);
      ASSERT_LE(share.last - share.first, count / threads + 1);
      if (share.first < share.last) {
        ASSERT_EQ(static_owner(count, threads, share.first), thread);
        ASSERT_EQ(static_owner(count, threads, share.last - 1), thread);
      }
      next = share.last;
    }
    ASSERT_EQ(next, count);
    const std::uint64_t chunk =
        std::max<std::uint64_t>(1, random.chance(50) ? count / random.between(1, 500) : random.next());
    next = 0;
    for (std::uint64_t index = 0;; ++index) {
      const Chunk piece = chunk_number(count, chunk, index);
      ASSERT_EQ(piece.first, next);
      if (piece.first == piece.last) break;
      ASSERT_LE(piece.last - piece.first, chunk);
      next = piece.last;
    }
    ASSERT_EQ(next, count);
  });
}

TEST(ScheduleProperty, GuidedChunksShrinkToTheEnd) {
  property::for_all(2000, [](Random& random) {
    std::uint64_t remaining = random.chance(30) ? random.next() >> random.below(40) : random.below(5000);
    const std::uint64_t threads = random.between(1, 40);
    const std::uint64_t chunk = std::max<std::uint64_t>(random.between(1, 50), remaining / 100'000);
    std::uint64_t before = ~std::uint64_t{0};
    while (remaining > 0) {
      const std::uint64_t size = guided_size(remaining, threads, chunk);
      ASSERT_GE(size, std::min(chunk, remaining));
      ASSERT_LE(size, std::min(before, remaining));
      before = size;
      remaining -= size;
    }
  });
}

}  // namespace
}  // namespace musubi::omp
