#include "heap/free_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace musubi::heap {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t block = 8 * page;
constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t range_bytes = 512 * MiB;
constexpr std::uint64_t age = FreePages::age_ns;

class NotedGiver final : public PageReleaser {
 public:
  bool give_back(std::uintptr_t address, std::size_t bytes) noexcept override {
    ++calls;
    given.push_back({address, bytes});
    return can_give && madvise(reinterpret_cast<void*>(address), bytes, MADV_DONTNEED) == 0;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const AddressRange& range : given) sum += range.bytes;
    return sum;
  }
  bool can_give = true;
  std::atomic<int> calls{0};
  std::vector<AddressRange> given;
};

class FreePagesTest : public testing::Test {
 protected:
  explicit FreePagesTest(std::uint32_t ranks = 4)
      : base(reinterpret_cast<std::uintptr_t>(mmap(nullptr, range_bytes, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        pages(base, range_bytes, block, ranks) {}
  ~FreePagesTest() override { munmap(reinterpret_cast<void*>(base), range_bytes); }

  void take(std::size_t offset, std::size_t bytes) { pages.take(base + offset, bytes, now); }
  void add(std::size_t offset, std::size_t bytes) { pages.add(base + offset, bytes, now); }
  void use(std::size_t offset, std::size_t bytes) {
    take(offset, bytes);
    std::memset(reinterpret_cast<void*>(base + offset), 1, bytes);
    add(offset, bytes);
  }
  void look() {
    if (pages.is_due()) pages.give_back(giver);
  }
  bool is_zero(std::size_t offset, std::size_t bytes) const {
    const auto* const from = reinterpret_cast<const char*>(base + offset);
    return std::all_of(from, from + bytes, [](char byte) { return byte == 0; });
  }

  std::uintptr_t base;
  FreePages pages;
  NotedGiver giver;
  std::uint64_t now = 100 * age;
};

TEST_F(FreePagesTest, LittleIsKeptWithoutACall) {
  take(0, page);
  look();  // the first look at the clock
  for (int turn = 0; turn < 1000; ++turn) {
    use(MiB, 16 * MiB);
    look();
  }
  EXPECT_EQ(giver.calls, 0);
  EXPECT_EQ(pages.kept_bytes(), 16 * MiB);
}

TEST_F(FreePagesTest, OfMuchTheShareOfARankIsKept) {
  use(0, 512 * MiB);
  look();
  EXPECT_EQ(pages.kept_bytes(), 64 * MiB);
  EXPECT_EQ(giver.bytes(), 448 * MiB);
  EXPECT_LE(giver.calls, 224);
}

TEST_F(FreePagesTest, ThoseThatAreUsedAgainAndAgainStay) {
  use(0, 128 * MiB);
  take(0, 32 * MiB);  // the peak is 128 MiB
  add(0, 32 * MiB);
  look();
  giver.given.clear();
  for (int turn = 0; turn < 10; ++turn) {
    use(300 * MiB, 24 * MiB);
    look();
  }
  // Once the unused pages have been given back, no more follow.
  EXPECT_LE(giver.bytes(), 2 * 24 * MiB);
  EXPECT_FALSE(is_zero(300 * MiB, 24 * MiB));
}

TEST_F(FreePagesTest, WhatIsNotUsedForTwoAgesGoes) {
  use(0, 8 * MiB);
  use(16 * MiB, MiB);
  for (int half_ages = 0; half_ages < 4; ++half_ages) {
    now += age / 2 + 1;
    use(16 * MiB, MiB);
    look();
    EXPECT_FALSE(is_zero(16 * MiB, MiB)) << half_ages;
  }
  EXPECT_EQ(pages.kept_bytes(), MiB);
  EXPECT_TRUE(is_zero(0, 8 * MiB));
}

TEST_F(FreePagesTest, BlocksThatAreInUseInPartStay) {
  take(0, 256 * MiB);
  for (std::size_t offset = 0; offset < 256 * MiB; offset += block) add(offset, block - page);
  look();
  EXPECT_EQ(giver.calls, 0);
  // As long as little is added, no thread looks again.
  EXPECT_FALSE(pages.is_due());
  add(block - page, page);
  EXPECT_FALSE(pages.is_due());
}

TEST_F(FreePagesTest, ClearStoresZerosOnlyWhereSomethingMayStand) {
  use(0, 2 * page);
  use(32 * MiB, 8 * MiB);
  use(64 * MiB, 40 * MiB);
  take(0, 128 * MiB);
  pages.clear(base, 128 * MiB, giver);
  EXPECT_TRUE(is_zero(0, 128 * MiB));
  ASSERT_EQ(giver.given.size(), 1u);
  EXPECT_EQ(giver.given[0].begin, base + 64 * MiB);
  EXPECT_EQ(giver.given[0].bytes, 40 * MiB);
}

TEST_F(FreePagesTest, ClearKnowsWhatTheSystemCouldNotTake) {
  giver.can_give = false;
  use(0, 256 * MiB);
  look();
  EXPECT_GT(giver.calls, 0);
  take(0, 256 * MiB);
  pages.clear(base, 256 * MiB, giver);
  EXPECT_TRUE(is_zero(0, 256 * MiB));
}

TEST_F(FreePagesTest, PagesThatAreLeavingComeIntoUseAfterwards) {
  // Values stored after take() stay, although the same pages are being given back all the time.
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends.load()) {
      if (pages.is_due()) pages.give_back(giver);
    }
  });
  constexpr int enough = 100, turns_max = 100000;
  for (int turn = 0; turn < turns_max && giver.calls < enough; ++turn) {
    take(0, 64 * MiB);
    auto* const bytes = reinterpret_cast<unsigned char*>(base);
    for (std::size_t i = 0; i < 64 * MiB; i += page) bytes[i] = 7;
    std::size_t lost = 0;
    for (std::size_t i = 0; i < 64 * MiB; i += page) lost += bytes[i] != 7;
    EXPECT_EQ(lost, 0u);
    add(0, 64 * MiB);
    std::this_thread::yield();
  }
  ends.store(true);
  other.join();
  EXPECT_GE(giver.calls, enough);
}

}  // namespace
}  // namespace musubi::heap
