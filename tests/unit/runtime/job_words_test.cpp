// Operations on words of a peer have the same effect by processor atomics and by the fabric.
#include "runtime/job/job_words.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "coherence/regions.h"
#include "far_fabric.h"
#include "shm_ranks.h"

namespace musubi::runtime {
namespace {

constexpr std::uint64_t offset = 128;
constexpr Rank own{0}, peer{1};

class JobWordsTest : public ::testing::Test {
 protected:
  JobWordsTest() {
    fabric::conformance::ExchangeBoard board(2);
    const auto open = [&](std::uint32_t self) {
      const auto opened = ranks_[self].open(Rank{self}, 2, std::size_t{1} << 26, board.of(Rank{self}), {},
                                            coherence::control_region);
      MUSUBI_CHECK(static_cast<bool>(opened));
    };
    std::thread other([&] { open(1); });
    open(0);
    other.join();
    far_fabric_ = std::make_unique<FarFabric>(*ranks_[0].fabric);
    mixed_fabric_ = std::make_unique<FarFabric>(*ranks_[0].fabric, 1);
    near_ = std::make_unique<JobWords>(*ranks_[0].fabric, ranks_[0].counters, offset);
    far_ = std::make_unique<JobWords>(*far_fabric_, ranks_[0].counters, offset);
    mixed_ = std::make_unique<JobWords>(*mixed_fabric_, ranks_[0].counters, offset);
  }
  // Each way, and the way by which the result is read: the other one.
  struct Way {
    JobWords& words;
    JobWords& other;
  };
  std::vector<Way> ways() { return {{*near_, *far_}, {*far_, *near_}, {*mixed_, *near_}}; }

  fabric::conformance::ShmRank ranks_[2];
  std::unique_ptr<FarFabric> far_fabric_, mixed_fabric_;
  std::unique_ptr<JobWords> near_, far_, mixed_;
};

TEST_F(JobWordsTest, WhatOneWayStoresTheOtherLoads) {
  for (auto [words, other] : ways()) {
    for (const Rank owner : {own, peer}) {
      words.store(owner, 7, 42 + owner.value);
      EXPECT_EQ(other.load(owner, 7), 42 + owner.value);
      EXPECT_EQ(other.load(owner, 6), 0u);
      words.store(owner, 7, 0);
    }
  }
}

TEST_F(JobWordsTest, AtomicsGiveTheOldValue) {
  for (auto [words, other] : ways()) {
    words.store(peer, 3, 10);
    EXPECT_EQ(words.fetch_add(peer, 3, 5), 10u);
    EXPECT_EQ(other.load(peer, 3), 15u);
    EXPECT_EQ(words.compare_swap(peer, 3, 14, 1), 15u);
    EXPECT_EQ(other.load(peer, 3), 15u);
    EXPECT_EQ(words.compare_swap(peer, 3, 15, 1), 15u);
    EXPECT_EQ(other.load(peer, 3), 1u);
  }
}

TEST_F(JobWordsTest, BothWaysAtOnceLoseNothing) {
  constexpr std::uint64_t times = 20000;
  const auto count = [&](JobWords& words) {
    for (std::uint64_t i = 0; i < times; ++i) words.fetch_add(peer, 9, 1);
  };
  std::thread other([&] { count(*near_); });
  count(*far_);
  other.join();
  EXPECT_EQ(near_->load(peer, 9), 2 * times);
}

TEST_F(JobWordsTest, CodeRunsWhereItWasLet) {
  for (auto [words, other] : ways()) {
    const unsigned index = &words == near_.get() ? 3 : &words == far_.get() ? 5 : 7;
    EXPECT_FALSE(other.code_may_run(index));
    words.let_code_run(index);
    words.let_code_run(index);
    EXPECT_TRUE(other.code_may_run(index));
    EXPECT_FALSE(other.code_may_run(index + 1));
  }
}

}  // namespace
}  // namespace musubi::runtime
