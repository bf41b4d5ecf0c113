// A peer wakes a rank that sleeps on its word, with and without access to the word.
#include "runtime/threads/request_bell.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "coherence/regions.h"
#include "far_fabric.h"
#include "os/clock.h"
#include "shm_ranks.h"

namespace musubi::runtime {
namespace {

constexpr std::uint64_t offset = 256, patience_ns = 20'000'000'000u;

class RequestBellTest : public ::testing::Test {
 protected:
  RequestBellTest() {
    fabric::conformance::ExchangeBoard board(2);
    const auto open = [&](std::uint32_t self) {
      const auto opened =
          ranks_[self].open(Rank{self}, 2, 4096, board.of(Rank{self}), {}, coherence::control_region);
      MUSUBI_CHECK(static_cast<bool>(opened));
    };
    std::thread other([&] { open(1); });
    open(0);
    other.join();
    asked_ = std::make_unique<RequestBell>(*ranks_[1].fabric, ranks_[1].memory.data(), offset);
    service_ = std::thread([this] {
      while (!stopping_.load()) {
        if (!ranks_[1].fabric->progress()) ranks_[1].fabric->wait_for_service();
      }
    });
  }
  ~RequestBellTest() override {
    stopping_.store(true);
    ranks_[1].fabric->wake_service();
    service_.join();
  }
  // Whether rank 1 wakes up when rank 0 rings, repeatedly until it does.
  bool wakes(RequestBell& asker) {
    std::atomic<bool> woken{false};
    const std::uint64_t begin_ns = os::monotonic_ns();
    std::thread sleeper([&] {
      asked_->wait(asked_->requests(), patience_ns);
      woken.store(true);
    });
    // Any number of rings may precede the sleep.
    while (!woken.load() && os::monotonic_ns() - begin_ns < patience_ns / 2) {
      asker.ring(Rank{1});
      std::this_thread::yield();
    }
    sleeper.join();
    return os::monotonic_ns() - begin_ns < patience_ns / 2;
  }

  fabric::conformance::ShmRank ranks_[2];
  std::unique_ptr<RequestBell> asked_;  // outlives the service thread, as in a job
  std::atomic<bool> stopping_{false};
  std::thread service_;
};

TEST_F(RequestBellTest, WakesByTheWord) {
  RequestBell asker(*ranks_[0].fabric, ranks_[0].memory.data(), offset);
  EXPECT_TRUE(wakes(asker));
}

TEST_F(RequestBellTest, WakesByAMessageWhereTheWordIsOutOfReach) {
  FarFabric far(*ranks_[0].fabric);
  RequestBell asker(far, ranks_[0].memory.data(), offset);
  EXPECT_TRUE(wakes(asker));
  EXPECT_EQ(asked_->requests(), 0u);
}

TEST_F(RequestBellTest, WakesTheOwnRank) {
  EXPECT_TRUE(wakes(*asked_));
}

}  // namespace
}  // namespace musubi::runtime
