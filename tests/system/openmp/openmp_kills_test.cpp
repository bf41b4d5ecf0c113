// Ranks and launchers die at random moments; nothing of their jobs is left, and nobody else's job notices.
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "base/random.h"
#include "openmp_job.h"

namespace musubi::test {
namespace {

constexpr int rounds = 5, kills_per_round = 20;

LaunchedJob::Options churn(int ranks, int work) {
  return job_of({ranks}, "churn", {std::to_string(work)});
}

void expect_nothing_left(const LaunchedJob& job, const std::set<std::string>& before) {
  EXPECT_TRUE(job.vanished());
  EXPECT_EQ(litter(), before);
}

void kill_a_rank(Random& random) {
  const auto before = litter();
  LaunchedJob job(churn(3, 100000));
  const auto moment = std::chrono::microseconds(random.below(200000));
  // A process that is just being executed shows no environment.
  std::vector<pid_t> ranks;
  ASSERT_TRUE(eventually([&] { return (ranks = job.processes()).size() == 3; })) << job.error();
  std::this_thread::sleep_for(moment);
  const pid_t victim = ranks[random.below(3)];
  ::kill(victim, SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL) << job.error();
  const std::string said = "(pid " + std::to_string(victim) + ") was killed by signal 9 (SIGKILL)";
  EXPECT_TRUE(contains(job.error(), said)) << said << "\n" << job.error();
  EXPECT_TRUE(contains(job.error(), "musubi: rank ")) << job.error();
  EXPECT_FALSE(contains(job.output(), "verified"));
  expect_nothing_left(job, before);
}

void kill_the_launcher(Random& random) {
  const auto before = litter();
  LaunchedJob job(churn(3, 100000));
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(300000)));
  job.send(SIGKILL);
  EXPECT_EQ(job.wait(), 1000 + SIGKILL);
  EXPECT_FALSE(contains(job.output(), "verified"));
  expect_nothing_left(job, before);
}

TEST(Kills, LeaveNothingAndDisturbNobody) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
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

}  // namespace
}  // namespace musubi::test
