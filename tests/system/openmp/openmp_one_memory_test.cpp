// When all ranks map one memory, and that no protocol works then (docs/decisions/one_memory.md).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../launch/launched_job.h"
#include "openmp_job.h"

namespace musubi::test {
namespace {

using Words = std::vector<std::string>;

LaunchedJob::Options three_ranks(const Words& options, const Words& program) {
  LaunchedJob::Options job{{"run", "-n", "3"}};
  job.arguments.insert(job.arguments.end(), options.begin(), options.end());
  job.arguments.push_back(PROGRAM_FOLDER + program.front());
  job.arguments.insert(job.arguments.end(), program.begin() + 1, program.end());
  job.environment = {"OMP_WAIT_POLICY=passive"};
  return job;
}

void expect_success(const Words& options, const Words& program) {
  LaunchedJob job(three_ranks(options, program));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

void expect_refusal(const Words& options, const Words& program, const std::string& reason) {
  LaunchedJob job(three_ranks(options, program));
  EXPECT_EQ(job.wait(), 125) << reason;
  EXPECT_TRUE(contains(job.error(), "coherence=processor cannot be: ")) << job.error();
  EXPECT_TRUE(contains(job.error(), reason)) << job.error();
  EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
}

std::string statistics_of(const std::string& coherence) {
  LaunchedJob job(three_ranks({"--stats", "--set", coherence}, {"churn"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
  return job.error();
}

bool counts(const std::string& statistics, const std::string& counter) {
  return contains(statistics, "\n  " + counter + " ");
}

TEST(OneMemory, IsTheDefaultOnOneHost) {
  expect_success({"--set", "coherence=auto"}, {"which_memory", "one"});
  expect_success({"--set", "coherence=protocol"}, {"which_memory", "own"});
}

TEST(OneMemory, IsNoneWhereTheUserWantsToSeeAProtocol) {
  expect_success({"--set", "coherence=auto", "--stats"}, {"which_memory", "own"});
  expect_success({"--set", "coherence=auto", "--trace", "/dev/null"}, {"which_memory", "own"});
  expect_success({"--set", "coherence=processor", "--stats"}, {"which_memory", "one"});
}

TEST(OneMemory, NothingMovesAndNothingIsCompared) {
  const std::string one = statistics_of("coherence=processor"), own = statistics_of("coherence=protocol");
  for (const char* counter : {"fetched_bytes", "comparisons", "write_faults"}) {
    EXPECT_FALSE(counts(one, counter)) << counter << "\n" << one;
    EXPECT_TRUE(counts(own, counter)) << counter << "\n" << own;
  }
}

TEST(OneMemory, SettingsOfAProtocolKeepMemoriesApart) {
  for (const char* setting : {"near_fabric=tcp", "fabric_delay=5us", "memory_max=1GiB",
                              "heap_policy=home_based", "vm_driver=mprotect", "report_races=true"}) {
    expect_success({"--set", "coherence=auto", "--set", setting}, {"which_memory", "own"});
    expect_refusal({"--set", "coherence=processor", "--set", setting}, {"which_memory", "own"},
                   std::string(setting).substr(0, std::string(setting).find('=')));
  }
}

TEST(OneMemory, VariablesOfEachProcessKeepMemoriesApart) {
  expect_refusal({"--set", "coherence=processor"}, {"own_environment"}, "a variable __environ of its own");
  expect_refusal({"--set", "coherence=processor"}, {"own_locale"},
                 "changes buffer or locale of a standard stream");
}

TEST(OneMemory, LinesOfUnsynchronisedStreamsComeInOrder) {
  LaunchedJob job(three_ranks({"--set", "coherence=processor"}, {"unsynchronised_streams"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
  std::string expected;
  for (int line = 0; line < 20; ++line) expected += "line " + std::to_string(line) + "\n";
  EXPECT_EQ(job.output(), expected + "unsynchronised_streams: passed\n");
}

}  // namespace
}  // namespace musubi::test
