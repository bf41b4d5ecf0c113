// What `report_races` says of words that two ranks store to.
#include <gtest/gtest.h>

#include "openmp_job.h"

namespace musubi::test {
namespace {

std::string report_of(const std::string& setting) {
  LaunchedJob::Options options = job_of({2}, "races", {});
  // Without looks in the background, which may bring what the other rank has stored to just before.
  options.arguments.insert(options.arguments.begin() + 1,
                           {"--set", "report_races=true", "--set", setting, "--set", "background_sync=0"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  return job.error();
}

TEST(Races, WordsAreCountedAndNamed) {
  const std::string report = report_of("merge_unit=auto");
  EXPECT_TRUE(contains(report, "3 words had different bytes changed by two ranks")) << report;
  EXPECT_TRUE(contains(report, "and one change was kept; 0 more were joined")) << report;
  EXPECT_TRUE(contains(report, "(counts+0x28): one change was kept")) << report;
  EXPECT_TRUE(contains(report, "(heap of rank 0 + 0x")) << report;
  EXPECT_TRUE(contains(report, "(stack 0 of rank 0)")) << report;
  EXPECT_TRUE(contains(report, " times rank")) << report;
  EXPECT_TRUE(contains(report, "ranks 0 and 1") || contains(report, "ranks 1 and 0")) << report;
}

TEST(Races, MergedByByteTheyAreJoined) {
  const std::string report = report_of("merge_unit=1");
  EXPECT_TRUE(contains(report, "; 3 more were joined from both")) << report;
  EXPECT_TRUE(contains(report, "(counts+0x28): joined from both")) << report;
}

TEST(Races, OneSegmentMayDiffer) {
  const std::string report = report_of("heap_merge_unit=1");
  EXPECT_TRUE(contains(report, "2 words had different bytes")) << report;
  EXPECT_TRUE(contains(report, "; 1 more were joined")) << report;
}

}  // namespace
}  // namespace musubi::test
