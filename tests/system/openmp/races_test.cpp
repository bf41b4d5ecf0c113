// Output of a job about words that two ranks store to: one line at its end, or all with `report_races`.
#include <gtest/gtest.h>

#include <algorithm>

#include "openmp_job.h"

namespace musubi::test {
namespace {

std::string report_once(const std::string& setting) {
  LaunchedJob::Options options = job_of({2}, "races", {});
  // Without polls by the background, which may fetch the other rank's most recent store.
  options.arguments.insert(options.arguments.begin() + 1,
                           {"--set", "report_races=true", "--set", setting, "--set", "background_sync=0"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  return job.error();
}

// A copy that expires at the barrier is fetched again by the store: then a late rank stores after the other
// rank, and there is no race. So jobs are run until all three words are raced for.
std::string report_of(const std::string& setting) {
  std::string report;
  for (int tries = 0; tries < 10; ++tries) {
    report = report_once(setting);
    std::size_t words = 0;
    for (std::size_t at = 0; (at = report.find(" changed the word at ", at)) != std::string::npos; ++at)
      ++words;
    if (words == 3) break;
  }
  return report;
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

// The connection between the ranks, and their number.
struct Job {
  const char* fabric;
  int ranks;
};

class RaceLine : public ::testing::TestWithParam<Job> {
 protected:
  static std::string lines_of(const std::string& work, const std::vector<std::string>& settings = {}) {
    LaunchedJob::Options options = job_of({GetParam().ranks}, "race_line", {work});
    std::vector<std::string> all = settings;
    all.insert(all.end(), {std::string("near_fabric=") + GetParam().fabric, "background_sync=0"});
    for (const std::string& setting : all)
      options.arguments.insert(options.arguments.begin() + 1, {"--set", setting});
    LaunchedJob job(options);
    EXPECT_EQ(job.wait(), 0) << job.error();
    return job.error();
  }
};

TEST_P(RaceLine, SaysOnceThatTheProgramHasARace) {
  const std::string text = lines_of("sums");
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_TRUE(contains(text, " bytes were changed by two ranks in different ways without an order")) << text;
  EXPECT_TRUE(contains(text, ", first at sums")) << text;
  EXPECT_TRUE(contains(text, ", by ranks ")) << text;
  EXPECT_TRUE(contains(text, "the program has a data race")) << text;
  EXPECT_TRUE(contains(text, "--set report_races=true names the places")) << text;
}

TEST_P(RaceLine, AdvisesWiderUnitsWhereWordsAreJoined) {
  const std::string joined = lines_of("halves", {"globals_merge_unit=2"});
  EXPECT_TRUE(contains(joined, "--set merge_unit=4 (ints, floats) or 8")) << joined;
  const std::string whole = lines_of("halves", {"globals_merge_unit=4"});
  EXPECT_TRUE(contains(whole, "the program has a data race")) << whole;
  EXPECT_FALSE(contains(whole, "merge_unit")) << whole;
}

TEST_P(RaceLine, IsLeftToTheReportThatIsAskedFor) {
  const std::string report = lines_of("sums", {"report_races=true"});
  EXPECT_FALSE(contains(report, "has a data race")) << report;
  EXPECT_TRUE(contains(report, " bytes were written by two ranks without an order")) << report;
  EXPECT_TRUE(contains(report, "(sums")) << report;
}

TEST_P(RaceLine, SaysNothingOfTheSameValueOrOfNone) {
  EXPECT_EQ(lines_of("same"), "");
  EXPECT_EQ(lines_of("none"), "");
}

INSTANTIATE_TEST_SUITE_P(Jobs, RaceLine,
                         ::testing::Values(Job{"shm", 2}, Job{"shm", 3}, Job{"tcp", 2}, Job{"tcp", 3}),
                         [](const auto& job) {
                           return std::string(job.param.fabric) + "_" + std::to_string(job.param.ranks);
                         });

}  // namespace
}  // namespace musubi::test
