// Typed calls of functions at another rank: here the other rank is the same process.
#include "image/process/owner_calls.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "looped_runtime.h"

namespace musubi::image {
namespace {

struct Pair {
  int first;
  double second;
};

class Part {
 public:
  explicit Part(runtime::Runtime& runtime) { calls.start(runtime, procedures::timers, *this); }

  int add(int number, const Pair& pair, double& sum) {
    sum = number + pair.first + pair.second;
    return 7;
  }
  void keep(std::optional<int> number, std::string_view text) {
    kept_number = number;
    kept_text = text;
  }
  long fail_here(int number) noexcept {
    errno = number;
    return -EIO;
  }

  std::optional<int> kept_number;
  std::string kept_text;
  OwnerCalls<&Part::add, &Part::keep, &Part::fail_here> calls;
};

class OwnerCallsTest : public testing::Test {
 protected:
  LoopedRuntime runtime_;
  Part part_{runtime_};
};

TEST_F(OwnerCallsTest, ArgumentsTravelAndTheReplyReturns) {
  double sum = 0;
  EXPECT_EQ(part_.calls.at<&Part::add>(Rank{1}, 1, Pair{2, 0.5}, sum), 7);
  EXPECT_EQ(sum, 3.5);
  EXPECT_EQ(runtime_.calls, 1);
}

TEST_F(OwnerCallsTest, TheOwnRankIsCalledWithoutMessages) {
  double sum = 0;
  EXPECT_EQ(part_.calls.at<&Part::add>(Rank{0}, 1, Pair{2, 0.5}, sum), 7);
  EXPECT_EQ(sum, 3.5);
  EXPECT_EQ(runtime_.calls, 0);
}

TEST_F(OwnerCallsTest, TextTakesTheRestOfTheRequest) {
  EXPECT_EQ(part_.calls.at_others<&Part::keep>(5, "some text"), 0);
  EXPECT_EQ(part_.kept_number, 5);
  EXPECT_EQ(part_.kept_text, "some text");
  EXPECT_EQ(part_.calls.at_others<&Part::keep>(std::nullopt, ""), 0);
  EXPECT_EQ(part_.kept_number, std::nullopt);
  EXPECT_EQ(part_.kept_text, "");
}

TEST_F(OwnerCallsTest, TextThatDoesNotFitIsRefused) {
  const std::string text(runtime::call_bytes_max, 'x');
  EXPECT_EQ(part_.calls.at_others<&Part::keep>(5, text), -E2BIG);
  EXPECT_EQ(runtime_.calls, 0);
}

TEST_F(OwnerCallsTest, ErrnoDoesNotChange) {
  errno = EAGAIN;
  EXPECT_EQ(part_.calls.at<&Part::fail_here>(Rank{1}, ENOENT), -EIO);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace musubi::image
