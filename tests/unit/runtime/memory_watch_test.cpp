// When a rank is told to look at its memory, and when to stop.
#include "runtime/start/memory_watch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "os/memory.h"

namespace musubi::runtime {
namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::size_t block = 32 << 10;

class MemoryWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i] = os::create_memory_file("musubi-test", 64 * MiB).value();
      numbers_[i] = files_[i].number();
      views_[i] = os::Mapping::anywhere(64 * MiB, os::Protection::read_write, {numbers_[i]}).value();
    }
  }
  MemoryWatch watch(std::optional<std::uint64_t> bytes_max) {
    return MemoryWatch(numbers_, bytes_max, 2, [this] {
      ++looks_;
      return left_;
    });
  }

  std::array<os::FileDescriptor, 3> files_;
  std::array<int, 3> numbers_{};
  std::array<os::Mapping, 3> views_;
  std::optional<std::uint64_t> left_ = 1000 * MiB;
  int looks_ = 0;
};

TEST_F(MemoryWatchTest, ALimitStopsTheRankAtMostAMebibyteBeyondIt) {
  MemoryWatch memory = watch(8 * MiB);
  std::uint64_t held = 0, told_at = 0;
  for (;;) {
    const MemoryWatch::Verdict verdict = memory.opening(block);
    if (verdict == MemoryWatch::Verdict::stop) break;
    if (verdict == MemoryWatch::Verdict::look && told_at == 0) told_at = held;
    ASSERT_LT(held, 10 * MiB);
    // Both copies of the block are created, the most that a fault can cost.
    std::memset(views_[0].data() + held / 2, 1, block);
    std::memset(views_[1].data() + held / 2, 1, block);
    held += 2 * block;
    EXPECT_EQ(memory.bytes_held(), held);
  }
  // The warning comes while there is time to evict pages.
  EXPECT_GE(told_at, memory.bytes_wanted_at_most());
  EXPECT_LE(told_at, 8 * MiB);
  EXPECT_GT(memory.excess(), held - 8 * MiB);
  EXPECT_TRUE(memory.is_over());
  EXPECT_GT(held, 8 * MiB);
  EXPECT_LE(held, 9 * MiB + 2 * block);
  const std::string line = memory.limit_message().text;
  EXPECT_NE(line.find("memory_max allows 8;"), std::string::npos) << line;
  EXPECT_NE(line.find("--set memory_max"), std::string::npos) << line;
  EXPECT_EQ(looks_, 0) << "the machine does not matter";
}

TEST_F(MemoryWatchTest, BlocksThatAreOpenedAgainAndAgainDoNotCount) {
  MemoryWatch memory = watch(8 * MiB);
  std::memset(views_[0].data(), 1, 4 * MiB);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(memory.opening(block), MemoryWatch::Verdict::go_on);
}

TEST_F(MemoryWatchTest, WithoutALimitTheMachineIsAskedNowAndThen) {
  MemoryWatch memory = watch(std::nullopt);
  int calls = 0;
  // 8 GiB in all, while a rank's share of the remaining memory is 234 MiB.
  for (int i = 0; i < 131'072; ++i) {
    if (memory.opening(block) != MemoryWatch::Verdict::look) continue;
    ++calls;
    EXPECT_TRUE(memory.is_due());
    EXPECT_EQ(memory.shortage(), "");
    EXPECT_FALSE(memory.is_due());
  }
  EXPECT_EQ(calls, looks_);
  EXPECT_GE(calls, 10);
  EXPECT_LE(calls, 100);
}

TEST_F(MemoryWatchTest, WhenHardlyAnythingIsLeftTheJobEnds) {
  MemoryWatch memory = watch(std::nullopt);
  left_ = 20 * MiB;
  const std::string line = memory.shortage();
  EXPECT_NE(line.find("out of memory"), std::string::npos);
  EXPECT_NE(line.find("20 MiB left"), std::string::npos) << line;
  EXPECT_NE(line.find("memory_max"), std::string::npos) << line;
}

TEST_F(MemoryWatchTest, AKernelThatDoesNotTellIsNotAskedAgain) {
  MemoryWatch memory = watch(std::nullopt);
  left_.reset();
  EXPECT_EQ(memory.shortage(), "");
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(memory.opening(block), MemoryWatch::Verdict::go_on);
}

}  // namespace
}  // namespace musubi::runtime
