#include "sync/local_hold.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "cross_thread_executor.h"
#include "manual_executor.h"

namespace musubi::sync {
namespace {

Task<> take_and_log(LocalHold* hold, std::string* log, char name) {
  co_await hold->take();
  *log += name;
}

TEST(LocalHold, GoesToWaitersInTheirOrder) {
  ManualExecutor executor;
  LocalHold hold;
  std::string log;
  ASSERT_TRUE(hold.try_take());
  EXPECT_FALSE(hold.try_take());
  Task<> tasks[3]{take_and_log(&hold, &log, 'a'), take_and_log(&hold, &log, 'b'),
                  take_and_log(&hold, &log, 'c')};
  for (auto& task : tasks) task.start(executor, nullptr);
  executor.run();
  EXPECT_EQ(log, "");
  for (const char* wanted : {"a", "ab", "abc"}) {
    hold.give_back();
    executor.run();
    EXPECT_EQ(log, wanted);
    EXPECT_FALSE(hold.try_take());
  }
  hold.give_back();
  EXPECT_TRUE(hold.try_take());
}

// Held, with one waiter.
struct Awaited {
  Awaited() : waiter(take_and_log(&hold, &log, 'a')) {
    EXPECT_TRUE(hold.try_take());
    waiter.start(executor, nullptr);
  }
  ManualExecutor executor;
  LocalHold hold;
  std::string log;
  Task<> waiter;
};

TEST(LocalHold, IsFreeUntilTheWaiterHasWokenUp) {
  Awaited awaited;
  auto& [executor, hold, log, waiter] = awaited;
  hold.give_back();
  EXPECT_TRUE(hold.try_take());
  hold.give_back();
  executor.run();
  EXPECT_EQ(log, "a");
}

TEST(LocalHold, IsHandedToAWaiterThatWasPassedTooOften) {
  Awaited awaited;
  auto& [executor, hold, log, waiter] = awaited;
  for (int i = 0; i < LocalHold::passed_max; ++i) {
    hold.give_back();
    ASSERT_TRUE(hold.try_take());
    executor.run();
    ASSERT_EQ(log, "");
  }
  hold.give_back();
  EXPECT_FALSE(hold.try_take());
  executor.run();
  EXPECT_EQ(log, "a");
  hold.give_back();
  EXPECT_TRUE(hold.try_take());
}

TEST(LocalHold, ExcludesThreads) {
  constexpr int threads_count = 4, rounds = 3000;
  LocalHold hold;
  int inside = 0, together = 0;  // changed by the holder only
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_count; ++thread) {
    threads.emplace_back([&, thread] {
      CrossThreadExecutor executor;
      for (int round = 0; round < rounds; ++round) {
        if (!hold.try_take()) {
          Task<> taking = hold.take();
          taking.start(executor, nullptr);
          executor.run_until_done(taking);
        }
        const int before = inside++;
        if ((round + thread) % 5 == 0) ::sched_yield();
        if (inside != before + 1) ++together;
        hold.give_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, threads_count * rounds);
  EXPECT_EQ(together, 0);
  EXPECT_TRUE(hold.try_take());
}

}  // namespace
}  // namespace musubi::sync
