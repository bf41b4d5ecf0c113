// The barrier of ranks that map one memory.
#include "runtime/job/processor_barrier.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "os/futex.h"

namespace musubi::runtime {
namespace {

using Word = std::atomic<std::uint32_t>;

struct alignas(ProcessorBarrier::alignment) Place {
  std::byte bytes[ProcessorBarrier::bytes] = {};
};

// Each rank has its own object, as in separate processes.
void pass_sleeping(ProcessorBarrier& barrier, bool gives, ProcessorBarrier::Payload& payload) {
  barrier.pass(
      gives, payload,
      [&](const Word& passages, std::uint32_t value) {
        barrier.begin_sleep();
        while (passages.load() == value) os::futex_wait(passages, value);
        barrier.end_sleep();
      },
      [](const Word& passages) { os::futex_wake(passages); });
}

TEST(ProcessorBarrier, AllHaveComeAndHaveThePayloadOfTheOneThatGives) {
  constexpr std::uint32_t ranks = 4;
  constexpr std::uint64_t passages = 2000;
  Place place;
  std::atomic<std::uint64_t> come{0}, wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ProcessorBarrier barrier(place.bytes, ranks);
      for (std::uint64_t passage = 1; passage <= passages; ++passage) {
        come.fetch_add(1);
        ProcessorBarrier::Payload payload{passage * ranks + rank};
        pass_sleeping(barrier, rank == 2, payload);
        if (come.load() < passage * ranks || payload[0] != passage * ranks + 2) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(come.load(), passages * ranks);
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(ProcessorBarrier, NoCallOfTheSystemIsMadeWhereNoneSleeps) {
  Place place;
  int waits = 0, wakes = 0;
  ProcessorBarrier first(place.bytes, 2), second(place.bytes, 2);
  ProcessorBarrier::Payload payload{};
  const auto wake = [&](const Word&) { ++wakes; };
  first.pass(
      true, payload,
      [&](const Word& passages, std::uint32_t value) {
        ++waits;
        second.pass(
            false, payload, [](const Word&, std::uint32_t) { FAIL() << "all have come"; }, wake);
        EXPECT_NE(passages.load(), value);
      },
      wake);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(wakes, 0);
}

}  // namespace
}  // namespace musubi::runtime
