// A stalled job reports the wait of each thread, and goes on waiting; a job that makes progress reports
// nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "openmp_job.h"

namespace musubi::test {
namespace {

LaunchedJob::Options stalls(const Size& size, const std::string& way, const std::string& patience = "300ms") {
  LaunchedJob::Options options = job_of(size, "stalls", {way});
  options.environment.push_back("MUSUBI_STALL_REPORT=" + patience);
  return options;
}

const std::string heading = "musubi: nothing has moved for";

// The only report of a job, which is then ended.
std::string report_of(const Size& size, const std::string& way) {
  LaunchedJob job(stalls(size, way));
  EXPECT_TRUE(eventually([&] { return contains(job.error(), heading); })) << way << ": " << job.error();
  EXPECT_EQ(job.processes().size(), static_cast<std::size_t>(size.ranks)) << "it was not to be ended";
  // No progress since then: no further report.
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.error();
  EXPECT_EQ(count_of(job.error(), heading), 1u) << job.error();
  return job.error();
}

TEST(Stalls, LocksInOppositeOrder) {
  for (const Size& size : {Size{2}, Size{1, 2}}) {
    const std::string report = report_of(size, "locks");
    const std::string rank = size.ranks == 2 ? "1" : "0";
    EXPECT_TRUE(contains(report, "thread 0 waits for lock second_lock, held by thread 1 of rank " + rank))
        << report;
    EXPECT_TRUE(contains(report, "thread 1 waits for lock first_lock, held by thread 0 of rank 0")) << report;
    EXPECT_EQ(count_of(report, ", at cross (stalls.c:14)"), 2u) << report;
  }
}

TEST(Stalls, ABarrierThatOneThreadDoesNotReach) {
  for (const Size& size : {Size{3}, Size{2, 2}}) {
    const std::string report = report_of(size, "barrier");
    EXPECT_TRUE(contains(report, "thread 0 waits at a barrier; missing: thread 1, at miss_a_barrier"))
        << report;
    EXPECT_TRUE(contains(report, "thread 2 waits at a barrier; missing: thread 1, at miss_a_barrier"))
        << report;
    EXPECT_TRUE(contains(report, "thread 1 waits for a signal; its last call was at ")) << report;
    EXPECT_TRUE(contains(report, "(stalls.c:")) << report;
  }
}

TEST(Stalls, ACriticalSectionThatIsNotLeft) {
  const std::string report = report_of({2}, "critical");
  EXPECT_TRUE(contains(report, "waits for critical section the_door, held by thread ")) << report;
}

TEST(Stalls, SpinsThatEndNever) {
  const std::string flushes = report_of({2}, "flush");
  EXPECT_TRUE(contains(flushes, "thread 0 flushes again and again, and nothing comes, at flush_for_ever"))
      << flushes;
  EXPECT_TRUE(contains(flushes, "waits for the end of the parallel region; missing: thread 0")) << flushes;
  const std::string looks = report_of({2}, "atomic");
  EXPECT_TRUE(contains(
      looks, "thread 1 looks again and again at atomic word, which does not change, at look_for_ever"))
      << looks;
}

TEST(Stalls, ATaskThatWaitsForItsCreator) {
  for (const auto& [way, does] :
       {std::pair<const char*, const char*>{"task", " at atomic word, which does not change"},
        {"yield", " yields again and again, and nothing comes"}}) {
    const std::string report = report_of({2}, way);
    EXPECT_TRUE(contains(report, does)) << report;
    EXPECT_EQ(count_of(report, "; it is in a task, wait_for_creator"), 1u) << report;
    EXPECT_TRUE(contains(
        report,
        ", which runs before its creator continues, so an event that the creator causes later never happens"))
        << report;
  }
}

TEST(Stalls, TheEndOfARegion) {
  const std::string report = report_of({2, 2}, "join");
  EXPECT_TRUE(contains(report, "thread 0 waits for the end of the parallel region; missing: thread 1"))
      << report;
}

// Also: a job that only waits for input is not stalled.
TEST(Stalls, TheQuitSignalAsksForAReportAndEndsNothing) {
  for (const Size& size : {Size{2}, Size{1, 2}}) {
    LaunchedJob job(stalls(size, "input"));
    ASSERT_TRUE(eventually([&] { return job.processes().size() == static_cast<std::size_t>(size.ranks); }));
    ASSERT_TRUE(eventually([&] {
      job.send(SIGQUIT);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return contains(job.error(), "waits for input from pipe:");
    })) << job.error();
    EXPECT_TRUE(contains(job.error(), "musubi: the threads of the job:")) << job.error();
    EXPECT_TRUE(contains(job.error(), "waits for a parallel region")) << job.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    job.type("7");
    EXPECT_EQ(job.wait(), 7) << job.error();
    EXPECT_FALSE(contains(job.error(), heading)) << job.error();
  }
}

TEST(Stalls, ZeroMeansNever) {
  LaunchedJob job(stalls({2}, "locks", "0"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(job.error(), "");
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

}  // namespace
}  // namespace musubi::test
