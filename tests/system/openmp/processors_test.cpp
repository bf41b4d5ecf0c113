// The C library of OpenMP that a program is linked to still reads its environment, in every rank by itself.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "openmp_job.h"

namespace musubi::test {
namespace {

TEST(Processors, PlacesOfTheUnusedLibraryDoNotPutAllThreadsOnOneProcessor) {
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  const int processors = CPU_COUNT(&mine);
  if (processors < 2) GTEST_SKIP() << "there is one processor only";
  const std::string line = std::to_string(processors) + "\n";
  const std::string program = std::string(PROGRAM_FOLDER) + "processors";
  LaunchedJob job({.arguments = {"run", "-n", "2", "-t", "2", "--bind", "none", program},
                   .environment = {"GOMP_CPU_AFFINITY=0"}});
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(job.output(), line + line + line + line);
}

// Every query, and every child of a thread, finds the processors that the program was started with.
TEST(Processors, BindingIsNotSeenByTheProgram) {
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  const int processors = CPU_COUNT(&mine);
  if (processors % 2 != 0 || processors > 64) GTEST_SKIP() << "there are " << processors << " processors";
  const std::string half = std::to_string(processors / 2);
  LaunchedJob job(std::vector<std::string>{"run", "-n", "2", "-t", half, "--bind", "core",
                                           std::string(PROGRAM_FOLDER) + "masks", std::to_string(processors),
                                           half});
  EXPECT_EQ(job.wait(), 0) << job.error();
}

}  // namespace
}  // namespace musubi::test
