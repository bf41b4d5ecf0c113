// The behaviour of every driver of the bootstrap port.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bootstrap/hosts.h"
#include "bootstrap_world.h"

namespace musubi::bootstrap {
namespace {

class BootstrapConformance : public testing::TestWithParam<BootstrapWorld> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
  Outcome run(int ranks, const std::vector<std::string>& act) { return GetParam().run(ranks, act); }
  void expect_right(int ranks, const std::vector<std::string>& act) {
    const Outcome outcome = run(ranks, act);
    EXPECT_EQ(outcome.status, 0) << act[0] << " of " << ranks << ": " << outcome.message;
    EXPECT_EQ(outcome.message, "");
  }
};

std::ptrdiff_t lines_of(const std::string& text) {
  return std::ranges::count(text, '\n');
}

TEST_P(BootstrapConformance, RanksAndTheirNumber) {
  for (const int ranks : {1, 2, 5, 9}) expect_right(ranks, {"place", std::to_string(ranks)});
}

TEST_P(BootstrapConformance, HostOfEachRank) {
  expect_right(1, {"hosts", "0"});
  expect_right(4, {"hosts", GetParam().hosts_of_four});
}

TEST_P(BootstrapConformance, OneSecretForAll) {
  expect_right(4, {"secret"});
}

TEST_P(BootstrapConformance, BlobsEmptyAndOfUnevenSizes) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const char* bytes : {"0", "1", "40000", "1000000"}) expect_right(ranks, {"gather", "2", bytes});
  }
}

TEST_P(BootstrapConformance, TheLargestBlobFitsAndALargerOneHarmsNothing) {
  expect_right(1, {"largest"});
  expect_right(4, {"largest"});
}

TEST_P(BootstrapConformance, ExchangesMeetInTheirOrder) {
  expect_right(4, {"gather", "300", "50"});
}

TEST_P(BootstrapConformance, AbortTellsTheReasonOnceAndEndsAll) {
  for (const char* rank : {"0", "2"}) {
    const Outcome outcome = run(3, {"abort", rank});
    EXPECT_EQ(outcome.status, 77);
    EXPECT_NE(outcome.message.find(std::string("rank ") + rank), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("block 17 is lost"), std::string::npos) << outcome.message;
    EXPECT_EQ(lines_of(outcome.message), 1) << outcome.message;
    EXPECT_TRUE(outcome.all_ended);
  }
}

TEST_P(BootstrapConformance, FinishEndsAllWithItsStatusAndWithoutAWord) {
  for (const char* rank : {"0", "2"}) {
    const Outcome outcome = run(3, {"finish", rank});
    EXPECT_EQ(outcome.status, 42);
    EXPECT_EQ(outcome.message, "");
    EXPECT_TRUE(outcome.all_ended);
  }
}

TEST_P(BootstrapConformance, TheFirstFinishCounts) {
  const Outcome outcome = run(4, {"first_finish"});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_EQ(outcome.message, "");
  EXPECT_TRUE(outcome.all_ended);
}

// The suite's time limit is the bound: the other ranks wait for ever if nothing ends them.
TEST_P(BootstrapConformance, ARankThatDiesOrLeavesInAnExchangeEndsTheOthers) {
  for (const char* how : {"die", "leave"}) {
    for (const char* rank : {"0", "3"}) {
      const Outcome outcome = run(4, {how, rank});
      EXPECT_GT(outcome.status, 0) << how;
      EXPECT_NE(outcome.message.find(std::string("rank ") + rank), std::string::npos) << outcome.message;
      EXPECT_EQ(lines_of(outcome.message), 1) << outcome.message;
      EXPECT_TRUE(outcome.all_ended);
    }
  }
}

TEST_P(BootstrapConformance, OutputComesInWholeLines) {
  if (!GetParam().relays_output) GTEST_SKIP() << "the ranks of this driver print as they like";
  for (const std::size_t bytes : {2u, 9000u, 300000u}) {
    const Outcome outcome = run(4, {"lines", "15", std::to_string(bytes)});
    EXPECT_EQ(outcome.status, 0) << outcome.message;
    EXPECT_EQ(lines_of(outcome.output), 60);
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      ASSERT_EQ(line.size(), bytes);
      ASSERT_EQ(line.find_first_not_of(line[0]), std::string::npos) << "lines of two ranks were mixed";
    }
  }
}

const auto name_of_world = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(InProcess, BootstrapConformance, testing::ValuesIn(in_process_worlds()),
                         name_of_world);
INSTANTIATE_TEST_SUITE_P(Exec, BootstrapConformance, testing::ValuesIn(exec_worlds()), name_of_world);
INSTANTIATE_TEST_SUITE_P(Local, BootstrapConformance, testing::ValuesIn(local_worlds()), name_of_world);

}  // namespace
}  // namespace musubi::bootstrap
