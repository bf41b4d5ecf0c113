// Waiting threads of one rank: an event for one of them wakes hardly any other, and no wake-up is lost.
#include "fabric/active_messages/sleepers.h"

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace musubi::fabric {
namespace {

// Its sleep ends when it is woken, and not otherwise.
class SleepingTransport final : public Transport {
 public:
  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 1; }
  std::size_t send(Rank, Lane, std::span<const Piece>) noexcept override { return 0; }
  Polled poll(Receiver&) noexcept override { return Polled::nothing; }
  void sleep(Sleeper) noexcept override { calls_.acquire(); }
  void wake(Sleeper) noexcept override { calls_.release(); }
  std::string way_to(Rank) const override { return ""; }
  void close(Rank) noexcept override {}

 private:
  std::counting_semaphore<> calls_{0};
};

class Waiters {
 public:
  explicit Waiters(std::size_t count) : ready_(count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { wait_for(i); });
  }
  std::size_t count() const { return threads_.size(); }
  // By `call`, which receives the event that the thread waits for.
  template <class Call>
  void end(std::size_t i, Call call) {
    ready_[i].store(true);
    call(&ready_[i]);
    threads_[i].join();
  }
  std::uint64_t returns() const { return returns_.load(); }
  bool all_sleep() const { return asleep_.load() == threads_.size(); }
  Sleepers& sleepers() { return sleepers_; }

 private:
  void wait_for(std::size_t i) {
    while (true) {
      const std::uint32_t bell = sleepers_.bell_of(ready_[i]);
      if (ready_[i].load()) return;
      asleep_.fetch_add(1);
      sleepers_.sleep(ready_[i], bell);
      asleep_.fetch_sub(1);
      returns_.fetch_add(1);
    }
  }

  SleepingTransport transport_;
  Sleepers sleepers_{transport_, WaitingPolicy{}};
  std::vector<std::atomic<bool>> ready_;
  std::atomic<std::uint64_t> returns_{0}, asleep_{0};
  std::vector<std::thread> threads_;
};

TEST(Sleepers, WhatIsForOneThreadWakesFewOthers) {
  Waiters waiters(32);
  while (!waiters.all_sleep()) std::this_thread::yield();
  for (std::size_t i = 0; i < waiters.count(); ++i)
    waiters.end(i, [&](const auto* ready) { waiters.sleepers().wake_waiter(ready); });
  // Waking all would make it 528.
  EXPECT_LE(waiters.returns(), 4 * waiters.count());
}

TEST(Sleepers, ACallOfAllReachesEachThread) {
  Waiters waiters(8);
  for (std::size_t i = 0; i < waiters.count(); ++i)
    waiters.end(i, [&](const auto*) { waiters.sleepers().wake(); });
}

TEST(Sleepers, NoWakeUpIsLostAmongThreadsThatComeAndGo) {
  for (int round = 0; round < 300; ++round) {
    Waiters waiters(6);
    for (std::size_t i = 0; i < waiters.count(); ++i)
      waiters.end(i, [&](const auto* ready) { waiters.sleepers().wake_waiter(ready); });
  }
}

}  // namespace
}  // namespace musubi::fabric
