#include "omp/chunk_pace.h"

#include <gtest/gtest.h>

namespace musubi::omp {
namespace {

constexpr std::uint64_t us = 1000;

// A thread that takes batches of one loop. Result: the number of trips.
struct LoopRun {
  std::uint64_t trip_ns;
  std::uint64_t chunk_ns;
  std::uint32_t threads;

  // The threads alternate, as when all chunks take the same time.
  std::uint64_t trips(std::uint64_t count) const {
    ChunkPace pace;
    std::uint64_t now = 0, taken = 0, trips = 0;
    while (taken < count) {
      const std::uint64_t chunks = pace.next(now, count - taken, threads);
      pace.note_batch(now, now + trip_ns, chunks);
      taken += chunks * threads;
      now += trip_ns + chunks * chunk_ns;
      ++trips;
    }
    return trips;
  }
};

TEST(ChunkPace, BeginsWithOneChunk) {
  EXPECT_EQ(ChunkPace().next(123, 1'000'000, 2), 1u);
}

TEST(ChunkPace, LongChunksComeOneByOne) {
  EXPECT_EQ((LoopRun{20 * us, 400 * us, 2}.trips(1000)), 500u);
}

TEST(ChunkPace, TripsAreASmallPartOfTheTime) {
  // 320 us of work per trip: 32 chunks; and some more trips while batches grow and shrink.
  const std::uint64_t trips = LoopRun{20 * us, 10 * us, 2}.trips(20'000);
  EXPECT_GE(trips, 10'000u / 32);
  EXPECT_LE(trips, 10'000u / 32 + 40);
  // Chunks that take no time: only the remaining chunks bound a batch.
  EXPECT_LE((LoopRun{20 * us, 0, 2}.trips(1'000'000)), 100u);
  EXPECT_LE((LoopRun{20 * us, 0, 64}.trips(1'000'000)), 60u);
}

TEST(ChunkPace, GrowsStepByStep) {
  ChunkPace pace;
  pace.note_batch(0, 20 * us, 1);
  EXPECT_EQ(pace.next(20 * us + 1, 1'000'000, 2), ChunkPace::growth);
}

TEST(ChunkPace, ShrinksTowardsTheEnd) {
  ChunkPace pace;
  pace.note_batch(0, 20 * us, 100);
  const std::uint64_t now = 20 * us + 1;
  EXPECT_EQ(pace.next(now, 1800, 2), 200u);
  EXPECT_EQ(pace.next(now, 1000, 2), 100u);
  EXPECT_EQ(pace.next(now, 208, 2), 1u);
  EXPECT_EQ(pace.next(now, 3, 2), 1u);
}

// A thread that was stopped during a trip, or during a batch, does not take a huge batch because of it.
TEST(ChunkPace, ATripIsAsShortAsOneHasBeen) {
  ChunkPace pace;
  pace.note_batch(0, 20 * us, 1);
  pace.note_batch(100 * us, 50'000 * us, 8);
  EXPECT_EQ(pace.trip_ns, 20 * us);
  EXPECT_EQ(pace.next(50'320 * us, 1'000'000, 2), 8u);
  EXPECT_EQ(pace.next(90'000 * us, 1'000'000, 2), 1u);
}

TEST(ChunkPace, CountsOfAnySizeFit) {
  ChunkPace pace;
  pace.note_batch(0, ~std::uint64_t{0} / 2, std::uint64_t{1} << 60);
  EXPECT_EQ(pace.next(~std::uint64_t{0} / 2 + 1, ~std::uint64_t{0}, 1),
            (~std::uint64_t{0} - (std::uint64_t{1} << 60)) / 4);
}

}  // namespace
}  // namespace musubi::omp
