// Team by itself: its counts, and the checks that stop a caller at the wrong time or in the wrong place.
#include <gtest/gtest.h>
#include <omp.h>

#include <csignal>
#include <string>

#include "omp/job.h"
#include "omp/parallel.h"
#include "standin_runtime.h"

namespace musubi::testing {
namespace {

omp::Team& team() {
  return omp::Job::current()->team;
}

omp::Region region_of(std::uint32_t size) {
  omp::Region region;
  region.function = [](void*) {};
  region.size = size;
  return region;
}

TEST(Team, can_stand_beside_the_one_of_the_ranks) {
  const auto body = [] {
    omp::Job& job = *omp::Job::current();
    omp::TeamWords own_words(job.runtime);
    omp::Crew crew(job.pool);
    omp::Team second(job.runtime, own_words, crew, nullptr);
    second.open(region_of(5), nullptr);
    EXPECT_FALSE(job.team.is_open());
    EXPECT_EQ(5u, second.members_here());
    EXPECT_EQ(0u, second.first_here());
    EXPECT_TRUE(second.claim_single(1));
    EXPECT_FALSE(second.claim_single(1));
    EXPECT_EQ(1u, second.newest_single());
    EXPECT_EQ(0u, job.team.newest_single());
    second.close();
    EXPECT_FALSE(second.is_open());
  };
  EXPECT_EQ(0, run_job({1, 2, {}}, body));
}

// The job ends because a check with this text fails.
void expect_failed_check(const std::string& check, const std::function<void()>& body) {
  ::testing::internal::CaptureStderr();
  const int status = run_job({2, 2, {}}, body);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(128 + SIGABRT, status);
  EXPECT_NE(std::string::npos, printed.find(check)) << printed;
}

TEST(TeamChecks, opening) {
  expect_failed_check("region.size > 1", [] { team().open(region_of(1), nullptr); });
  expect_failed_check("!is_open()", [] {
#pragma omp parallel
#pragma omp master
    team().open(region_of(4), nullptr);
  });
}

TEST(TeamChecks, closing_twice) {
  expect_failed_check("is_open()", [] {
#pragma omp parallel
    {}
    team().close();
  });
}

TEST(TeamChecks, meeting_outside_a_region) {
  expect_failed_check("is_open()", [] { team().meet(nullptr); });
  expect_failed_check("is_open()", [] { team().join(); });
  expect_failed_check("is_open()", [] { team().claim_single(1); });
}

TEST(TeamChecks, attending_with_members) {
  expect_failed_check("members_here_ == 0", [] {
#pragma omp parallel
#pragma omp master
    team().attend();
  });
}

TEST(TeamChecks, cancelling_what_cannot_be_cancelled) {
  expect_failed_check("cancellation_enabled()", [] {
#pragma omp parallel
#pragma omp master
    team().cancel();
  });
}

TEST(TeamChecks, a_member_of_no_region) {
  expect_failed_check("team.is_open()", [] {
#pragma omp parallel
    {}
    omp::Pool::Worker worker;
    omp::run_worker(team(), 0, worker);
  });
}

TEST(TeamChecks, a_member_too_many) {
  expect_failed_check("number < region.size", [] {
    omp::Team& own = team();
    own.open(region_of(2), nullptr);
    omp::Pool::Worker worker;
    omp::run_worker(own, 2, worker);
  });
}

TEST(TeamChecks, a_member_inside_its_own_team) {
  expect_failed_check("team != task.outer->team", [] {
#pragma omp parallel
#pragma omp master
    {
      omp::Pool::Worker worker;
      omp::run_worker(team(), 0, worker);
    }
  });
}

TEST(TeamChecks, ending_a_region_that_is_not_there) {
  expect_failed_check("task.outer != nullptr", [] { omp::end_parallel(); });
}

TEST(TeamChecks, ending_a_region_from_inside_a_task) {
  expect_failed_check("this_thread().task == &task", [] {
#pragma omp parallel num_threads(1)
#pragma omp task
    omp::end_parallel();
  });
}

}  // namespace
}  // namespace musubi::testing
