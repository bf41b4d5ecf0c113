#include "heap/stream_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace musubi::heap {
namespace {

constexpr Rank self{1};
constexpr std::uint32_t ranks = 3;

class StreamMemoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(stream_memory.reserve(self, ranks)); }

  static void* take(std::size_t bytes) {
    const StreamMemory::StreamAllocation allocation;
    return stream_memory.take(bytes);
  }
};

TEST_F(StreamMemoryTest, GivesNothingUnlessAStreamIsBeingMade) {
  EXPECT_EQ(stream_memory.take(100), nullptr);
  void* const stream = take(100);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream_memory.take(100), nullptr) << "it is made now";
  stream_memory.give_back(stream);
}

TEST_F(StreamMemoryTest, StreamOfThisThreadIsNotAnothersAffair) {
  const StreamMemory::StreamAllocation allocation;
  std::thread([] { EXPECT_EQ(stream_memory.take(100), nullptr); }).join();
}

TEST_F(StreamMemoryTest, AddressTellsTheRank) {
  auto* const stream = static_cast<char*>(take(StreamMemory::slot_bytes));
  ASSERT_TRUE(stream_memory.contains(stream));
  EXPECT_EQ(stream_memory.owner_of(stream), self);
  EXPECT_EQ(stream_memory.owner_of(stream + StreamMemory::slot_bytes - 1), self);
  EXPECT_FALSE(stream_memory.contains(&ranks));
  stream_memory.give_back(stream);
}

TEST_F(StreamMemoryTest, SlotsOfOthersReadAsZeros) {
  auto* const stream = static_cast<unsigned char*>(take(8));
  std::memset(stream, 0xff, StreamMemory::slot_bytes);
  std::uintptr_t other = reinterpret_cast<std::uintptr_t>(stream);
  while (stream_memory.owner_of(reinterpret_cast<void*>(other)) == self) other += StreamMemory::slot_bytes;
  ASSERT_TRUE(stream_memory.contains(reinterpret_cast<void*>(other)));
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>(other), 0);
  EXPECT_FALSE(stream_memory.is_in_use(reinterpret_cast<void*>(other)));
  stream_memory.give_back(reinterpret_cast<void*>(other));  // a mistake of the program: has no effect
  stream_memory.give_back(stream);
}

TEST_F(StreamMemoryTest, TooLargeForASlotGoesElsewhere) {
  EXPECT_EQ(take(StreamMemory::slot_bytes + 1), nullptr);
}

TEST_F(StreamMemoryTest, SlotsAreDistinctAndFullGivesNullAndComeAgain) {
  std::set<void*> taken;
  while (void* const stream = take(200)) {
    ASSERT_TRUE(taken.insert(stream).second);
    ASSERT_TRUE(stream_memory.is_in_use(stream));
  }
  EXPECT_EQ(taken.size(), 4096u);
  void* const middle = *std::next(taken.begin(), 1000);
  stream_memory.give_back(middle);
  EXPECT_FALSE(stream_memory.is_in_use(middle));
  EXPECT_EQ(take(200), middle);
  EXPECT_EQ(take(200), nullptr);
  for (void* stream : taken) stream_memory.give_back(stream);
}

TEST_F(StreamMemoryTest, ThreadsGetDistinctSlots) {
  std::atomic<int> ready{0};
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (int mark = 1; mark <= 4; ++mark) {
    threads.emplace_back([&, mark] {
      for (++ready; ready < 4;) std::this_thread::yield();
      for (int round = 0; round < 100'000; ++round) {
        auto* const mine = static_cast<std::atomic<int>*>(take(64));
        mine->store(mark);
        if (round % 64 == 0) std::this_thread::yield();
        if (mine->load() != mark) ++shared;
        stream_memory.give_back(mine);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
}

TEST_F(StreamMemoryTest, ForeignAddressIsAMistakeOfOurs) {
  int local = 0;
  EXPECT_DEATH(stream_memory.give_back(&local), "is no memory of a stream");
  EXPECT_DEATH((void)stream_memory.reserve(self, ranks), "bytes_ == 0");
}

}  // namespace
}  // namespace musubi::heap
