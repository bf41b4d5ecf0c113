// The shares of static loops against loops that are really run.
#include "omp/kmp/static_shares.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

namespace musubi::omp::kmp {
namespace {

// The values of the loop in order, counted in 128 bits.
template <class Value>
std::vector<Value> values_of(const Bounds<Value>& bounds) {
  std::vector<Value> values;
  const __int128 step = bounds.step, last = bounds.upper;
  for (__int128 value = bounds.lower; step > 0 ? value <= last : value >= last; value += step)
    values.push_back(static_cast<Value>(value));
  return values;
}

// What compiled code runs with the share: chunks, cut at the end of the loop.
template <class Value>
std::vector<Value> run(const Bounds<Value>& whole, const StaticShare& share, bool by_chunks) {
  std::vector<Value> values;
  const std::uint64_t count = whole.count(), length = share.chunk.last - share.chunk.first;
  for (std::uint64_t first = share.chunk.first; first < count && length > 0; first += share.stride) {
    const Chunk chunk{first, std::min(first + length, count)};
    for (const Value value : values_of(whole.part(chunk))) values.push_back(value);
    if (!by_chunks) break;
  }
  return values;
}

template <class Value>
void expect_division(const Bounds<Value>& bounds) {
  const std::vector<Value> wanted = values_of(bounds);
  ASSERT_EQ(bounds.count(), wanted.size());
  if (wanted.empty()) return;
  for (const std::uint64_t threads : {1, 2, 3, 7, 64}) {
    for (const auto& [schedule, chunk] :
         std::vector<std::pair<std::int32_t, std::uint64_t>>{{schedules::static_whole, 0},
                                                             {schedules::static_chunked, 0},
                                                             {schedules::static_chunked, 1},
                                                             {schedules::static_chunked, 3},
                                                             {schedules::static_chunked, 1000},
                                                             {schedules::distribute_chunked, 2},
                                                             {schedules::distribute_whole, 0},
                                                             {schedules::static_balanced_chunked, 4}}) {
      std::map<Value, int> seen;
      std::uint64_t lasts = 0;
      const bool by_chunks = chunk != 0 || schedule == schedules::static_chunked;
      for (std::uint64_t thread = 0; thread < threads; ++thread) {
        const StaticShare share = static_share_of(schedule, bounds.count(), chunk, threads, thread);
        const std::vector<Value> own =
            run(bounds, share, by_chunks && schedule != schedules::static_balanced_chunked);
        for (const Value value : own) ++seen[value];
        EXPECT_EQ(share.has_last, !own.empty() && own.back() == wanted.back());
        lasts += share.has_last ? 1 : 0;
        if (own.empty()) {
          // Compilers compare the bounds, or count from them.
          const Bounds<Value> part = bounds.part({0, 0});
          EXPECT_EQ(part.count(), 0u);
          using Count = typename Bounds<Value>::Count;
          const auto count = static_cast<Count>(part.upper - part.lower + 1);
          EXPECT_TRUE(bounds.step != 1 || count == 0);
        }
      }
      EXPECT_EQ(lasts, 1u);
      EXPECT_EQ(seen.size(), wanted.size()) << schedule << " of " << threads;
      for (const auto& [value, times] : seen) EXPECT_EQ(times, 1);
    }
  }
}

template <class Value>
void expect_at_ends() {
  using Step = typename Bounds<Value>::Step;
  constexpr Value lowest = std::numeric_limits<Value>::min(), highest = std::numeric_limits<Value>::max();
  for (const Step step :
       {Step{1}, Step{2}, Step{7}, static_cast<Step>(std::numeric_limits<Step>::max() / 3)}) {
    const auto few = static_cast<Value>(step > 100 ? highest : 40 * step);
    const auto below = static_cast<Step>(-step);
    expect_division<Value>({static_cast<Value>(highest - few), highest, step});
    expect_division<Value>({highest, static_cast<Value>(highest - few), below});
    expect_division<Value>({static_cast<Value>(lowest + few), lowest, below});
    expect_division<Value>({lowest, static_cast<Value>(lowest + few), step});
    expect_division<Value>({highest, highest, step});
    expect_division<Value>({highest, lowest, step});
    expect_division<Value>({lowest, highest, below});
  }
}

TEST(StaticShares, CoverEachIterationOnceAtTheEndsOfAllTypes) {
  expect_at_ends<std::int32_t>();
  expect_at_ends<std::uint32_t>();
  expect_at_ends<std::int64_t>();
  expect_at_ends<std::uint64_t>();
}

TEST(StaticShares, CoverEachIterationOnce) {
  for (std::int32_t first = -3; first < 4; ++first) {
    for (std::int32_t last = -12; last < 13; ++last) {
      for (const std::int32_t step : {1, 2, 5, -1, -3}) expect_division<std::int32_t>({first, last, step});
    }
  }
}

// flang passes the number of iterations less one, without a sign.
TEST(StaticShares, OfALoopOfTheWholeTypeAreEmpty) {
  EXPECT_EQ((Bounds<std::uint32_t>{0, 0xffff'ffff, 1}.count()), 0u);
}

TEST(StaticShares, OfTheLargestChunkEnd) {
  constexpr std::uint64_t count = 0xffff'ffff, chunk = 0x7fff'ffff;
  const StaticShare first = static_share_of(schedules::static_chunked, count, chunk, 2, 0);
  const StaticShare second = static_share_of(schedules::static_chunked, count, chunk, 2, 1);
  EXPECT_EQ(first.chunk.last, chunk);
  EXPECT_EQ(second.chunk.first, chunk);
  EXPECT_TRUE(first.has_last);
  EXPECT_FALSE(second.has_last);
  EXPECT_GE(second.chunk.first + second.stride, count);
}

TEST(StaticShares, SpacesCountFromTheFirstValue) {
  const IterationSpace down = Bounds<std::int32_t>{5, -5, -5}.space();
  EXPECT_EQ(down.count, 3u);
  EXPECT_EQ(static_cast<std::int64_t>(down.value_at(2)), -5);
  const IterationSpace wide = Bounds<std::uint32_t>{0xffff'fff0, 0xffff'ffff, 3}.space();
  EXPECT_EQ(wide.count, 6u);
  EXPECT_EQ(wide.value_at(5), 0xffff'ffffu);
}

}  // namespace
}  // namespace musubi::omp::kmp
