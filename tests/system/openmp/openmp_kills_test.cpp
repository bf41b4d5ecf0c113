// Ranks and launchers die at random moments; nothing of their jobs is left, and no other job is affected.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "../launch/left_overs.h"
#include "../launch/moments.h"
#include "openmp_job.h"

namespace musubi::test {
namespace {

constexpr int rounds = 5, kills_per_round = 20, kills_over_libfabric = 15;

// `near_fabric` as the setting has it.
LaunchedJob::Options churn(int ranks, int work, const std::string& near_fabric = "shm") {
  LaunchedJob::Options options = job_of({ranks}, "churn", {std::to_string(work)});
  options.environment.push_back("MUSUBI_NEAR_FABRIC=" + near_fabric);
  return options;
}

// A process in the middle of an exec shows no environment.
std::vector<pid_t> ranks_of(const LaunchedJob& job) {
  std::vector<pid_t> ranks = job.processes();
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void kill_a_rank(Random& random, const std::string& near_fabric = "shm") {
  const Moment moment{3, random.between(0, 30)};
  const std::size_t victim = random.below(3);
  SCOPED_TRACE("rank " + std::to_string(victim) + " at " + moment.text());
  LaunchedJob job(churn(3, 100000, near_fabric));
  ASSERT_TRUE(moment.await(job)) << job.error();
  LeftOvers left;
  left.look_at(job);
  EXPECT_GE(left.noted(), 1u);
  const pid_t process = ranks_of(job)[victim];
  ::kill(process, SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL) << job.error();
  const std::string said = "(pid " + std::to_string(process) + ") was killed by signal 9 (SIGKILL)";
  EXPECT_TRUE(contains(job.error(), said)) << said << "\n" << job.error();
  EXPECT_TRUE(contains(job.error(), "musubi: rank ")) << job.error();
  EXPECT_FALSE(contains(job.output(), "verified"));
  EXPECT_EQ(left.of(job), "");
}

void kill_the_launcher(Random& random) {
  const Moment moment = Moment::draw(random, 3, 30);
  SCOPED_TRACE("the launcher at " + moment.text());
  LaunchedJob job(churn(3, 100000));
  ASSERT_TRUE(moment.await(job)) << job.error();
  LeftOvers left;
  left.look_at(job);
  job.send(SIGKILL);
  EXPECT_EQ(job.wait(), 1000 + SIGKILL);
  EXPECT_FALSE(contains(job.output(), "verified"));
  EXPECT_EQ(left.of(job), "");
}

TEST(Kills, LeaveNothingAndDisturbNobody) {
  Random random(seed_of_test());
  for (int round = 0; round < rounds; ++round) {
    LaunchedJob first(churn(2, 300)), second(churn(2, 300));
    for (int i = 0; i < kills_per_round; ++i) {
      if (random.below(4) == 0) {
        kill_the_launcher(random);
      } else {
        kill_a_rank(random);
      }
    }
    for (LaunchedJob* bystander : {&first, &second}) {
      EXPECT_EQ(bystander->wait(), 0) << bystander->error();
      EXPECT_TRUE(contains(bystander->output(), "verified\n"));
      EXPECT_EQ(bystander->error(), "");
    }
    if (HasFailure()) break;
  }
}

TEST(Kills, OverLibfabricLeaveNothingEither) {
  void* const library = ::dlopen("libfabric.so.1", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "no libfabric: " << ::dlerror();
  ::dlclose(library);
  Random random(seed_of_test());
  for (int i = 0; i < kills_over_libfabric && !HasFailure(); ++i) kill_a_rank(random, "ofi");
}

// Four ranks share data that none may hold: homes move and copies are evicted all the time.
TEST(Kills, LeaveNothingWhileHomesMove) {
  constexpr unsigned ranks = 4;
  Random random(seed_of_test());
  for (int i = 0; i < 6; ++i) {
    const Moment moment{ranks, random.between(1, 3)};
    const std::size_t victim = random.below(ranks);
    SCOPED_TRACE("rank " + std::to_string(victim) + " at " + moment.text());
    LaunchedJob job({"run", "-n", std::to_string(ranks), "--set", "memory_max=64MiB",
                     PROGRAM_FOLDER "beyond_memory", "sort", "192"});
    ASSERT_TRUE(moment.await(job)) << job.error();
    LeftOvers left;
    left.look_at(job);
    const pid_t process = ranks_of(job)[victim];
    ::kill(process, SIGKILL);
    EXPECT_EQ(job.wait(), 128 + SIGKILL) << job.error();
    const std::string said = "(pid " + std::to_string(process) + ") was killed by signal 9 (SIGKILL)";
    EXPECT_TRUE(contains(job.error(), said)) << said << "\n" << job.error();
    EXPECT_EQ(std::ranges::count(job.error(), '\n'), 1) << job.error();
    EXPECT_EQ(left.of(job), "");
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace musubi::test
