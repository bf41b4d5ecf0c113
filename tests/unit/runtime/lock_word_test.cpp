// The lock of threads that share one memory: a waiter is overtaken a few times, and no more.
#include "runtime/api/processor_locks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace musubi::runtime {
namespace {

// The holder releases the lock and takes it again before the waiter has woken up, each time that it can, but
// not for ever.
TEST(LockWord, AThreadThatWaitsIsPassedAFewTimesAtMost) {
  std::atomic<std::uint32_t> word{0};
  LockWord lock(word);
  ASSERT_TRUE(lock.try_take());
  int passed = 0, wakes = 0;
  bool holds = true;
  lock.take([&](std::uint32_t value) {
    ASSERT_EQ(word.load(), value);
    ASSERT_TRUE(holds) << "the lock is there, and the thread waits";
    lock.give_back([&] { ++wakes; });
    holds = passed < 2 * LockWord::passed_max && lock.try_take();
    passed += holds ? 1 : 0;
  });
  EXPECT_FALSE(holds);
  EXPECT_EQ(passed, LockWord::passed_max);
  EXPECT_EQ(wakes, passed + 1);
  EXPECT_FALSE(lock.try_take());
  lock.give_back([] {});
  EXPECT_TRUE(lock.try_take());
}

// A thread that arrives while the lock is being handed over waits for it like all other threads.
TEST(LockWord, WhatIsHandedOverIsNotForThoseThatComeThen) {
  std::atomic<std::uint32_t> word{0};
  LockWord lock(word);
  ASSERT_TRUE(lock.try_take());
  bool second_waited = false;
  int rounds = 0;
  lock.take([&](std::uint32_t) {
    lock.give_back([] {});
    if (++rounds <= LockWord::passed_max) {
      ASSERT_TRUE(lock.try_take());
      return;
    }
    const std::uint32_t before = word.load();
    lock.take([&](std::uint32_t value) {  // another thread, which sleeps and then wakes up spuriously
      EXPECT_EQ(value, before);
      second_waited = true;
    });
    lock.give_back([] {});
  });
  EXPECT_TRUE(second_waited);
}

TEST(LockWord, OneThreadAtATime) {
  constexpr int threads = 4, turns = 200'000;
  std::atomic<std::uint32_t> word{0};
  int count = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      LockWord lock(word);
      for (int turn = 0; turn < turns; ++turn) {
        lock.take([&](std::uint32_t value) { word.wait(value); });
        ++count;
        lock.give_back([&] { word.notify_all(); });
      }
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT_EQ(count, threads * turns);
}

}  // namespace
}  // namespace musubi::runtime
