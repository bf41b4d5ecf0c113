// The small parts of base: frame pool, Result, Random, ids, checks, spin lock.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "base/frame_pool.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "base/spin_lock.h"

namespace musubi {
namespace {

TEST(FramePool, BlocksAreAlignedDistinctAndWritable) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (std::size_t bytes = 1; bytes <= 6000; bytes += 97) {
    auto* block = static_cast<unsigned char*>(frame_allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t b = 0; b < blocks[i].second; ++b)
      ASSERT_EQ(blocks[i].first[b], static_cast<unsigned char>(i));
    frame_free(blocks[i].first, blocks[i].second);
  }
}

TEST(FramePool, GivesAFreedBlockAgain) {
  void* first = frame_allocate(200);
  frame_free(first, 200);
  void* second = frame_allocate(193);  // the same size class
  EXPECT_EQ(first, second);
  frame_free(second, 193);
}

TEST(FramePool, ABlockMayBeFreedByAnotherThread) {
  void* block = frame_allocate(128);
  void* again = nullptr;
  std::thread([&] {
    frame_free(block, 128);
    again = frame_allocate(128);
  }).join();
  EXPECT_EQ(again, block);
}

TEST(FramePool, TheFramesOfStreamsNeedNoSystemCall) {
  frame_free(frame_allocate(4792), 4792);
  const std::size_t before = frame_bytes_mapped();
  for (int i = 0; i < 1000; ++i) {
    for (const std::size_t bytes : {4792, 20'000, 32'768}) {
      void* block = frame_allocate(bytes);
      std::memset(block, i, bytes);
      frame_free(block, bytes);
    }
  }
  EXPECT_LE(frame_bytes_mapped() - before, 256u * 1024);
}

TEST(FramePool, ThreadsTakeOverWhatEndedThreadsLeft) {
  constexpr int threads = 200;
  const std::size_t before = frame_bytes_mapped();
  for (int i = 0; i < threads; ++i) {
    std::thread([] { frame_free(frame_allocate(300), 300); }).join();
  }
  // One pool, and a few more if a joined thread has not fully exited.
  EXPECT_LE(frame_bytes_mapped() - before, 8u * 256 * 1024);
}

// As when one thread always wakes another.
TEST(FramePool, FramesThatAlwaysWanderDoNotGather) {
  constexpr std::size_t bytes = 64, batch = 500, turns = 400;
  std::vector<void*> on_the_way(batch);
  std::atomic<std::size_t> turn{0};
  const std::size_t before = frame_bytes_mapped();
  std::thread sleeper([&] {
    for (std::size_t i = 1; i < 2 * turns; i += 2) {
      while (turn.load() != i) std::this_thread::yield();
      for (void* block : on_the_way) frame_free(block, bytes);
      turn.store(i + 1);
    }
  });
  for (std::size_t i = 0; i < 2 * turns; i += 2) {
    while (turn.load() != i) std::this_thread::yield();
    for (void*& block : on_the_way) block = frame_allocate(bytes);
    turn.store(i + 1);
  }
  sleeper.join();
  EXPECT_LE(frame_bytes_mapped() - before, 3u * 256 * 1024);
  EXPECT_GT(batch * turns * bytes, 40u * 256 * 1024);
}

Result<int> half(int number) {
  if (number % 2 != 0) return Error{"the number is odd; give an even one"};
  return number / 2;
}
Result<void> only_positive(int number) {
  if (number <= 0) return Error{"too small; give a positive number"};
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(8).ok());
  EXPECT_EQ(half(8).value(), 4);
  EXPECT_FALSE(half(7));
  EXPECT_EQ(half(7).error().message, "the number is odd; give an even one");
  EXPECT_TRUE(only_positive(1).ok());
  EXPECT_EQ(only_positive(0).error().message, "too small; give a positive number");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 3);
}

TEST(ResultDeathTest, TakingTheValueOfAnErrorNamesTheError) {
  EXPECT_DEATH((void)half(7).value(), "the number is odd");
}

TEST(Random, RepeatsFromItsSeed) {
  Random first(42), second(42), other(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = first.next();
    EXPECT_EQ(value, second.next());
    differs |= value != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, MatchesTheReferenceImplementation) {
  // The second word of splitmix64 from seed 0 (published test vector); xoshiro256** returns
  // rotl(s1 * 5, 7) * 9.
  const std::uint64_t second_word = 0x6e789e6aa1b965f4u;
  const std::uint64_t product = second_word * 5;
  EXPECT_EQ(Random(0).next(), (product << 7 | product >> 57) * 9);
}

TEST(Random, StaysInItsBoundsAndReachesThem) {
  Random random(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) ++seen.at(random.below(6));
  for (const int count : seen) EXPECT_GT(count, 800);
  std::set<std::uint64_t> values;
  for (int i = 0; i < 200; ++i) values.insert(random.between(3, 5));
  EXPECT_EQ(values, (std::set<std::uint64_t>{3, 4, 5}));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.chance(0));
    EXPECT_TRUE(random.chance(100));
  }
}

TEST(Ids, CompareAndHashByValue) {
  EXPECT_LT(Rank{1}, Rank{2});
  EXPECT_EQ(BlockId{7}, BlockId{7});
  EXPECT_EQ(later(LogicalTime{3}, LogicalTime{5}), LogicalTime{5});
  EXPECT_EQ(LogicalTime{3} + 4, LogicalTime{7});
  std::unordered_set<Rank> ranks{Rank{1}, Rank{1}, Rank{2}};
  EXPECT_EQ(ranks.size(), 2u);
  static_assert(!std::is_convertible_v<Rank, LockId>);
}

TEST(CheckDeathTest, SaysWhatWhereAndWhy) {
  const int answer = 41;
  EXPECT_DEATH(MUSUBI_CHECK(answer == 42), "internal error at .*base_test.cpp:[0-9]+: answer == 42");
  EXPECT_DEATH(MUSUBI_CHECK(answer == 42, "it is %d", answer), "answer == 42: it is 41");
  EXPECT_DEATH(
      {
        set_check_prefix("rank 3");
        MUSUBI_CHECK(false);
      },
      "musubi: rank 3: internal error");
}

TEST(SpinLock, ExcludesAndIsPolite) {
  SpinLock lock;
  std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        lock.lock();
        ++counter;
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, 200'000u);
  if (!lock.try_lock()) FAIL() << "no thread holds the lock";
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
}

}  // namespace
}  // namespace musubi
