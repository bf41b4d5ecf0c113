// A job that wants more memory than it may have ends with a line that names cause and remedy.
#include <gtest/gtest.h>
#include <signal.h>

#include "openmp_job.h"

namespace musubi::test {
namespace {

struct Ended {
  int status;
  std::string output, error;
};

Ended run(int ranks, const std::string& setting, const std::string& mebibytes) {
  LaunchedJob job({"run", "-n", std::to_string(ranks), "--set", setting, PROGRAM_FOLDER "greedy", mebibytes});
  const int status = job.wait();
  EXPECT_TRUE(job.vanished());
  return {status, job.output(), job.error()};
}

TEST(MemoryLimit, BeyondItTheJobEndsWithCauseAndRemedy) {
  const Ended ended = run(2, "memory_max=24MiB", "64");
  EXPECT_EQ(ended.status, 1);
  EXPECT_FALSE(contains(ended.output, "survived"));
  EXPECT_TRUE(contains(ended.error, "musubi: rank 0 (pid ")) << ended.error;
  EXPECT_TRUE(contains(ended.error, "out of memory: this rank holds ")) << ended.error;
  EXPECT_TRUE(contains(ended.error, "memory_max allows 24; raise it (--set memory_max=")) << ended.error;
}

// Neither rank may hold the 16 MiB that rank 0 writes and rank 1 reads.
TEST(MemoryLimit, CopiesGoAndHomesMoveBeforeTheJobEnds) {
  LaunchedJob job({"run", "-n", "2", "--stats", "--set", "memory_max=12MiB", PROGRAM_FOLDER "greedy", "16"});
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.output(), "survived"));
  for (const char* counter : {"evictions", "homes_moved_away"})
    EXPECT_TRUE(contains(job.error(), counter)) << job.error();
}

// Main alone initialises more than any rank may hold.
TEST(MemoryLimit, DataOfTheWholeJobIsSorted) {
  LaunchedJob job({"run", "-n", "4", "--stats", "--set", "memory_max=16MiB", PROGRAM_FOLDER "beyond_memory",
                   "sort", "48"});
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.output(), "verified"));
  for (const char* told : {"homes_moved_away", "musubi: memory was short: of "})
    EXPECT_TRUE(contains(job.error(), told)) << job.error();
}

// While order is kept, all blocks that their homes use have public copies: twice the data, more than there
// is.
TEST(MemoryLimit, DataOfTheWholeJobIsSortedInOrder) {
  LaunchedJob job({"run", "-n", "4", "--stats", "--set", "memory_max=16MiB",
                   PROGRAM_FOLDER "beyond_memory_in_order", "sort", "40"});
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.output(), "verified"));
  for (const char* told : {"homes_moved_away", "given_back_bytes"})
    EXPECT_TRUE(contains(job.error(), told)) << job.error();
}

TEST(MemoryLimit, DataOfTheWholeJobIsMultiplied) {
  LaunchedJob job({"run", "-n", "8", "--stats", "--set", "memory_max=12MiB", PROGRAM_FOLDER "beyond_memory",
                   "product", "36"});
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.output(), "verified"));
  EXPECT_TRUE(contains(job.error(), "homes_moved_away")) << job.error();
}

TEST(MemoryLimit, BelowItNothingHappens) {
  const Ended ended = run(2, "memory_max=200MiB", "64");
  EXPECT_EQ(ended.status, 0) << ended.error;
  EXPECT_TRUE(contains(ended.output, "survived"));
  EXPECT_EQ(ended.error, "");
}

TEST(MemoryLimit, TheEndOfTheSharedHeapIsAFailedMalloc) {
  for (const int ranks : {1, 2}) {
    const Ended ended = run(ranks, "heap_bytes=32MiB", "64");
    EXPECT_EQ(ended.status, 3) << ended.error;
    EXPECT_TRUE(contains(ended.output, "no memory"));
  }
}

// As kernels that commit memory strictly do when none is left: here the file of the public copies is cut off.
TEST(MemoryLimit, MemoryThatIsNotThereIsReportedAsSuch) {
  LaunchedJob job({"run", "-n", "2", PROGRAM_FOLDER "cut_off", "musubi-published"});
  EXPECT_EQ(job.wait(), 128 + SIGBUS);
  EXPECT_TRUE(contains(job.error(), "was killed by SIGBUS")) << job.error();
  EXPECT_TRUE(contains(job.error(), "in the memory that ranks share: no memory is left")) << job.error();
  EXPECT_TRUE(job.vanished());
}

}  // namespace
}  // namespace musubi::test
