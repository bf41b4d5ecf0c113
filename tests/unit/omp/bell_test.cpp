// Every change that is followed by a ring ends the sleep of all threads that wait for it.
#include "omp/tasks/bell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace musubi::omp {
namespace {

// In each round a thread waits for a change by each of two threads: if the first of them takes the mark that
// the waiting thread has just made, the second one must not find it gone while that thread falls asleep.
TEST(Bell, no_wake_is_lost) {
  constexpr std::uint32_t changers = 2, rounds = 200'000;
  Bell bell(nullptr);
  std::atomic<std::uint32_t> changes{0}, round{0};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < changers; ++i) {
    threads.emplace_back([&] {
      for (std::uint32_t next = 1; next <= rounds; ++next) {
        round.wait(next - 1);
        changes.fetch_add(1);
        bell.ring();
      }
    });
  }
  for (std::uint32_t next = 1; next <= rounds; ++next) {
    round.store(next);
    round.notify_all();
    while (changes.load() != changers * next) {
      const std::uint32_t seen = bell.prepare();
      if (changes.load() == changers * next) break;
      bell.sleep(seen);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(changers * rounds, changes.load());
}

}  // namespace
}  // namespace musubi::omp
