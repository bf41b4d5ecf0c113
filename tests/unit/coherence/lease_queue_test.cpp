// The queue of readable blocks, ordered by the ends of their leases.
#include "coherence/store/lease_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"

namespace musubi::coherence::migrating {
namespace {

constexpr LogicalTime end_of_time{~std::uint64_t{0}};

// Everything that ends before `time`, in the queue's order.
std::vector<std::uint64_t> pop_all_before(LeaseQueue& queue, LogicalTime time) {
  std::vector<std::uint64_t> blocks;
  for (BlockId block; queue.pop_before(time, &block);) blocks.push_back(block.value);
  return blocks;
}

TEST(LeaseQueue, IsEmptyAtFirst) {
  LeaseQueue queue(4);
  BlockId block{77};
  EXPECT_FALSE(queue.pop_before(end_of_time, &block));
  EXPECT_EQ(block, BlockId{77});
}

TEST(LeaseQueue, GivesTheBlockThatEndsFirst) {
  LeaseQueue queue(4);
  queue.push(LogicalTime{30}, BlockId{1});
  queue.push(LogicalTime{10}, BlockId{3});
  queue.push(LogicalTime{20}, BlockId{0});
  EXPECT_EQ(pop_all_before(queue, LogicalTime{100}), (std::vector<std::uint64_t>{3, 0, 1}));
}

// A copy may still be read at its read_ts.
TEST(LeaseQueue, KeepsWhatEndsAtTheTimeOrLater) {
  LeaseQueue queue(4);
  queue.push(LogicalTime{10}, BlockId{1});
  queue.push(LogicalTime{11}, BlockId{2});
  BlockId block{77};
  EXPECT_FALSE(queue.pop_before(LogicalTime{10}, &block));
  EXPECT_EQ(block, BlockId{77});
  EXPECT_EQ(pop_all_before(queue, LogicalTime{11}), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(pop_all_before(queue, LogicalTime{12}), (std::vector<std::uint64_t>{2}));
}

// As the caller does with a block that has been renewed since.
TEST(LeaseQueue, TakesABlockBackWithALaterTime) {
  LeaseQueue queue(2);
  queue.push(LogicalTime{10}, BlockId{0});
  queue.push(LogicalTime{20}, BlockId{1});
  BlockId block;
  ASSERT_TRUE(queue.pop_before(LogicalTime{15}, &block));
  queue.push(LogicalTime{30}, block);
  EXPECT_EQ(pop_all_before(queue, LogicalTime{25}), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(pop_all_before(queue, LogicalTime{35}), (std::vector<std::uint64_t>{0}));
}

TEST(LeaseQueue, HoldsEveryBlockWithTheSameTime) {
  constexpr std::uint64_t blocks = 50;
  LeaseQueue queue(blocks);
  for (std::uint64_t block = 0; block < blocks; ++block) queue.push(LogicalTime{7}, BlockId{block});
  EXPECT_EQ(pop_all_before(queue, LogicalTime{7}).size(), 0u);
  const std::vector<std::uint64_t> popped = pop_all_before(queue, LogicalTime{8});
  EXPECT_EQ(popped.size(), blocks);
  EXPECT_EQ(std::set<std::uint64_t>(popped.begin(), popped.end()).size(), blocks);
}

struct Model {
  std::multimap<std::uint64_t, std::uint64_t> queued;  // blocks by time
  std::vector<std::uint64_t> outside;
};

// Blocks with the same time may come in any order.
void pop_like(LeaseQueue& queue, Model& model, LogicalTime time) {
  BlockId block;
  const bool found = queue.pop_before(time, &block);
  ASSERT_EQ(found, !model.queued.empty() && model.queued.begin()->first < time.value);
  if (!found) return;
  const auto [begin, end] = model.queued.equal_range(model.queued.begin()->first);
  const auto place = std::find_if(begin, end, [&](const auto& e) { return e.second == block.value; });
  ASSERT_NE(place, end) << "block " << block.value << " does not end first";
  model.outside.push_back(block.value);
  model.queued.erase(place);
}

void push_like(LeaseQueue& queue, Model& model, LogicalTime time, std::size_t which) {
  std::swap(model.outside[which], model.outside.back());
  const std::uint64_t block = model.outside.back();
  model.outside.pop_back();
  queue.push(time, BlockId{block});
  model.queued.emplace(time.value, block);
}

TEST(LeaseQueue, BehavesLikeASortedList) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::uint64_t blocks = random.between(1, 60);
    const std::uint64_t times = random.between(1, 200);
    LeaseQueue queue(blocks);
    Model model;
    for (std::uint64_t block = 0; block < blocks; ++block) model.outside.push_back(block);
    for (unsigned i = 0; i < 1000; ++i) {
      if (!model.outside.empty() && random.chance(55)) {
        push_like(queue, model, LogicalTime{random.below(times)}, random.below(model.outside.size()));
      } else {
        ASSERT_NO_FATAL_FAILURE(pop_like(queue, model, LogicalTime{random.below(times + 2)}));
      }
    }
    while (!model.queued.empty()) ASSERT_NO_FATAL_FAILURE(pop_like(queue, model, end_of_time));
    EXPECT_EQ(pop_all_before(queue, end_of_time).size(), 0u);
  }
}

// Threads push blocks of their own, and take all that have ended.
TEST(LeaseQueue, GivesEachBlockOnceToManyThreads) {
  constexpr std::uint64_t threads = 4, blocks_each = 100'000;
  LeaseQueue queue(threads * blocks_each);
  std::vector<std::atomic<unsigned>> popped(threads * blocks_each);
  std::atomic<std::uint64_t> started{0};
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Random random(t);
      started.fetch_add(1);
      while (started.load() != threads) std::this_thread::yield();
      for (std::uint64_t i = 0; i < blocks_each; ++i) {
        queue.push(LogicalTime{random.below(1000)}, BlockId{t * blocks_each + i});
        BlockId block;
        if (queue.pop_before(LogicalTime{random.below(1000)}, &block)) popped.at(block.value).fetch_add(1);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const std::uint64_t block : pop_all_before(queue, end_of_time)) popped.at(block).fetch_add(1);
  for (std::uint64_t block = 0; block < popped.size(); ++block) {
    ASSERT_EQ(popped[block].load(), 1u) << "block " << block;
  }
}

}  // namespace
}  // namespace musubi::coherence::migrating
