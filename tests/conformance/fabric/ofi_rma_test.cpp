// Operations that the network itself carries out: which gets and puts, their results, and the behaviour
// without it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "ofi_ranks.h"
#include "service_threads.h"

namespace musubi::fabric::conformance {
namespace {

using trace::Counter;

constexpr std::size_t region_bytes = std::size_t{8} << 20;
constexpr std::size_t bytes_min = 16384;

std::byte pattern(std::size_t at) {
  return static_cast<std::byte>(at * 7 + at / 4096);
}

}  // namespace

class OfiRma : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_provider("tcp;ofi_rxm")) GTEST_SKIP();
  }
  // Ranks 0 and 1, each with its setting; the memory of rank 1 has the pattern, and the two have exchanged
  // messages.
  void open(std::optional<std::size_t> min0, std::optional<std::size_t> min1,
            const OfiOptions& way = ofi_options_of_tests()) {
    board_.emplace(2);
    ranks_ = std::vector<OfiRank>(2);
    open_all(2, [&](Rank rank) {
      OfiOptions options = way;
      options.rma_bytes_min = rank == Rank{0} ? min0 : min1;
      return ranks_[rank.value].open(rank, 2, region_bytes, options, board_->of(rank), WaitingPolicy{},
                                     &watcher_);
    });
    services_.emplace(2, [this](Rank rank) -> Fabric& { return *ranks_[rank.value].fabric; });
    ASSERT_TRUE(gets_word(asking(), Rank{1}, ranks_[1].memory.data()));
    for (std::size_t i = 0; i < region_bytes; ++i) ranks_[1].memory.data()[i] = pattern(i);
  }
  Fabric& asking() { return *ranks_[0].fabric; }
  std::uint64_t count(Counter counter) { return ranks_[0].counters.get(counter); }
  // Posts the steps, and waits until they are complete.
  void carry_out(std::span<const Step> steps) {
    Event completion;
    ASSERT_EQ(asking().post(Rank{1}, steps, completion), Outcome::pending);
    ASSERT_TRUE(comes_true([&] { return completion.is_set(); }));
  }
  void expect_get(std::uint64_t offset, std::size_t bytes, std::uint64_t reads) {
    const std::uint64_t before = count(Counter::rma_operations), bytes_before = count(Counter::far_bytes);
    std::vector<std::byte> local(bytes + 2, std::byte{0xee});
    const Step step = get(region_of_tests, offset, local.data() + 1, bytes);
    carry_out({&step, 1});
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(local[i + 1], pattern(offset + i)) << i;
    EXPECT_EQ(local.front(), std::byte{0xee});
    EXPECT_EQ(local.back(), std::byte{0xee});
    EXPECT_EQ(count(Counter::rma_operations) - before, reads) << bytes << " bytes at " << offset;
    EXPECT_EQ(count(Counter::far_bytes) - bytes_before, bytes);
  }

  LossCounter watcher_;
  std::optional<ExchangeBoard> board_;
  std::vector<OfiRank> ranks_;
  std::optional<ServiceThreads> services_;
};

TEST_F(OfiRma, LongGets) {
  open(bytes_min, bytes_min);
  expect_get(0, bytes_min, 1);
  expect_get(4096, std::size_t{1} << 20, 1);
  expect_get(12345, bytes_min + 3, 1);
  expect_get(region_bytes - bytes_min, bytes_min, 1);
  EXPECT_EQ(count(Counter::rma_bytes), 3 * bytes_min + 3 + (std::size_t{1} << 20));
}

TEST_F(OfiRma, ShortOnesAndStepsWithAnOrderGoByMessages) {
  open(bytes_min, bytes_min);
  expect_get(8, bytes_min - 1, 0);
  std::vector<std::byte> local(bytes_min), more(bytes_min);
  std::uint64_t old = 0;
  const std::array<Step, 2> gets{get(region_of_tests, 0, local.data(), bytes_min),
                                 get(region_of_tests, bytes_min, more.data(), bytes_min)};
  carry_out(gets);
  const std::array<Step, 2> mixed{get(region_of_tests, 0, local.data(), bytes_min),
                                  fetch_add(region_of_tests, 0, &old, 1)};
  carry_out(mixed);
  const Step store = put(region_of_tests, 0, local.data(), bytes_min - 1);
  carry_out({&store, 1});
  EXPECT_EQ(count(Counter::rma_operations), 0u);
}

// 0 by the user's choice; none, as this provider tears words; a peer that offers no regions.
TEST_F(OfiRma, WithoutItGetsGoByMessages) {
  using Setting = std::optional<std::size_t>;
  for (const auto& [own, peers] :
       {std::pair<Setting, Setting>{0, 0}, {std::nullopt, std::nullopt}, {bytes_min, 0}, {0, bytes_min}}) {
    services_.reset();
    ranks_.clear();
    open(own, peers);
    expect_get(4096, std::size_t{1} << 20, 0);
  }
}

// When it is complete, the peer's memory has all of it.
TEST_F(OfiRma, LongPuts) {
  open(bytes_min, bytes_min);
  constexpr std::size_t bytes = std::size_t{4} << 20, offset = 4096 + 5, rounds = 20;
  std::vector<std::byte> local(bytes);
  const Step step = put(region_of_tests, offset, local.data(), bytes);
  for (std::size_t round = 1; round <= rounds; ++round) {
    std::ranges::fill(local, static_cast<std::byte>(round));
    Event completion;
    const std::atomic<bool> never{false};
    ASSERT_EQ(asking().post(Rank{1}, {&step, 1}, completion), Outcome::pending);
    while (!completion.is_set()) {
      if (!asking().progress()) asking().wait(never);
    }
    EXPECT_EQ(ranks_[1].memory.data()[offset + bytes - 1], static_cast<std::byte>(round)) << "too early";
    ASSERT_EQ(std::memcmp(ranks_[1].memory.data() + offset, local.data(), bytes), 0) << round;
  }
  EXPECT_EQ(ranks_[1].memory.data()[offset - 1], pattern(offset - 1));
  EXPECT_EQ(ranks_[1].memory.data()[offset + bytes], pattern(offset + bytes));
  EXPECT_EQ(count(Counter::rma_operations), rounds);
  EXPECT_EQ(count(Counter::rma_bytes), rounds * bytes);
}

TEST_F(OfiRma, PagesGivenBackReadAsZeros) {
  open(bytes_min, bytes_min);
  std::byte* const pages = ranks_[1].memory.data() + (std::size_t{1} << 20);
  ASSERT_EQ(::madvise(pages, bytes_min, MADV_DONTNEED), 0);
  std::vector<std::byte> local(bytes_min, std::byte{1});
  const Step step = get(region_of_tests, std::size_t{1} << 20, local.data(), bytes_min);
  carry_out({&step, 1});
  EXPECT_TRUE(std::ranges::all_of(local, [](std::byte each) { return each == std::byte{0}; }));
  std::memset(pages, 2, bytes_min);
  carry_out({&step, 1});
  EXPECT_TRUE(std::ranges::all_of(local, [](std::byte each) { return each == std::byte{2}; }));
  EXPECT_EQ(count(Counter::rma_operations), 2u);
}

// This provider has regions named by address, the other one by offset.
TEST_F(OfiRma, RegionsAreNamedAsTheProviderWants) {
  if (!has_provider("shm")) GTEST_SKIP();
  open(bytes_min, bytes_min, ofi_options_of_tests("shm", ""));
  expect_get(12345, bytes_min, 1);
  expect_get(4096, std::size_t{1} << 20, 1);
}

// More than may be in flight: the rest goes by messages.
TEST_F(OfiRma, ManyAtOnceAllArrive) {
  open(bytes_min, bytes_min);
  constexpr std::size_t gets = 400;
  std::vector<std::byte> local(gets * bytes_min);
  std::vector<Step> steps;
  std::vector<Event> completions(gets);
  for (std::size_t i = 0; i < gets; ++i) {
    steps.push_back(get(region_of_tests, i * 512, local.data() + i * bytes_min, bytes_min));
  }
  for (std::size_t i = 0; i < gets; ++i) {
    ASSERT_EQ(asking().post(Rank{1}, {&steps[i], 1}, completions[i]), Outcome::pending);
  }
  for (std::size_t i = 0; i < gets; ++i) {
    ASSERT_TRUE(comes_true([&] { return completions[i].is_set(); })) << i;
    for (std::size_t at = 0; at < bytes_min; at += 61) {
      ASSERT_EQ(local[i * bytes_min + at], pattern(i * 512 + at));
    }
  }
  EXPECT_GT(count(Counter::rma_operations), 0u);
}

// Its service thread has ended, so the read is pending when it dies.
TEST_F(OfiRma, APeerThatDiesMeanwhileIsNoticed) {
  open(bytes_min, bytes_min);
  services_->end(Rank{1});
  std::vector<std::byte> local(std::size_t{4} << 20);
  const Step step = get(region_of_tests, 0, local.data(), local.size());
  Event completion;
  ASSERT_EQ(asking().post(Rank{1}, {&step, 1}, completion), Outcome::pending);
  ::usleep(50'000);
  EXPECT_FALSE(completion.is_set());
  EXPECT_EQ(watcher_.failed.load(), 0u);
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
  EXPECT_FALSE(completion.is_set());
  EXPECT_STREQ(watcher_.reason.load(), "it died or left");
}

}  // namespace musubi::fabric::conformance
