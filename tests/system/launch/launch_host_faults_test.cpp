// Jobs over several hosts under faults: deaths, stops and silences of every process that takes part. The job
// ends within a bounded time, one line names the process and its host, and nothing remains.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/random.h"
#include "host_wrappers.h"
#include "job_processes.h"
#include "left_overs.h"
#include "moments.h"

namespace musubi::test {
namespace {

TEST(HostFaults, KilledProxyEndsTheJobAndItsRanks) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"ready"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  ASSERT_EQ(proxies_of(job).size(), 2u);
  ::kill(proxies_of(job)[1], SIGKILL);
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find("musubi: host h"), std::string::npos) << job.error();
  EXPECT_NE(job.error().find(" is lost: its proxy has ended (signal 9 (SIGKILL))"), std::string::npos)
      << job.error();
  EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
  EXPECT_EQ(left.of(job), "");
}

TEST(HostFaults, KilledLauncherTakesAllHostsWithIt) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2,h3", {"ready"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  job.send(SIGKILL);
  EXPECT_EQ(job.wait(), 1000 + SIGKILL);
  EXPECT_EQ(left.of(job), "");
}

// rsh in between, as a separate process: the channel outlives it.
TEST(HostFaults, KilledRshEndsTheJob) {
  const std::string rsh = "sh -c 'sh -c \"$2\"; exit $?' host";
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"ready"}, {}, rsh));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  const auto between = processes_with(job, "exit $?");
  ASSERT_EQ(between.size(), 2u);
  ::kill(between[1], SIGKILL);
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find(" is lost: its proxy has ended (signal 9 (SIGKILL))"), std::string::npos)
      << job.error();
  EXPECT_EQ(left.of(job), "");
}

TEST(HostFaults, AStoppedProxyIsSilentAndItsHostLost) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"ready"}, {"--set", "host_timeout=1s"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  ASSERT_EQ(proxies_of(job).size(), 2u);
  ::kill(proxies_of(job)[1], SIGSTOP);
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find(" is lost: the launcher on "), std::string::npos) << job.error();
  EXPECT_NE(
      job.error().find(" has had no sign of life for 1 s; that host hangs, or the network between is down"),
      std::string::npos)
      << job.error();
  EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
  EXPECT_EQ(left.of(job), "");
}

// Stopped by a signal that cannot be caught: its proxies end the ranks, and it says so when it goes on.
TEST(HostFaults, ProxiesDoNotWaitForALauncherThatIsSilent) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"ready"}, {"--set", "host_timeout=1s"}));
  wait_until_ready(job);
  job.send(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return ranks_of_job(job).empty(); }));
  job.send(SIGCONT);
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find("the launcher has been silent for too long"), std::string::npos) << job.error();
  EXPECT_TRUE(job.vanished());
}

TEST(HostFaults, AStoppedRankIsWaitedFor) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"chatter"}, {"--set", "host_timeout=500ms"}));
  ASSERT_TRUE(eventually([&] { return lines_of(job.output()) > 10; }));
  const std::vector<pid_t> ranks = ranks_of_job(job);
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[3], SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(ranks_of_job(job).size(), 4u) << job.error();
  const auto before = lines_of(job.output());
  ::kill(ranks[3], SIGCONT);
  EXPECT_TRUE(eventually([&] { return lines_of(job.output()) > before + 10; }));
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST(HostFaults, AStoppedRankDiesWithTheJob) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"ready"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  const std::vector<pid_t> ranks = ranks_of_job(job);
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[1], SIGSTOP);
  ::kill(ranks[2], SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_EQ(left.of(job), "");
}

TEST(HostFaults, HundredRandomKillsLeaveNothing) {
  Random random(seed_of_test());
  std::size_t noted = 0;
  for (int round = 0; round < 100; ++round) {
    const Moment moment = Moment::draw(random, 8, 12);
    LaunchedJob job(run_on_hosts("h1:2,h2:2,h3:2,h4:2", {"chatter"}));
    ASSERT_TRUE(moment.await(job)) << job.error();
    LeftOvers left;
    left.look_at(job);
    noted += left.noted();
    // In any state of the job: shells that will become proxies, proxies, ranks, the launcher.
    std::vector<pid_t> victims = job.processes();
    victims.push_back(job.launcher());
    ::kill(victims[random.below(victims.size())], SIGKILL);
    const int status = job.wait();
    ASSERT_TRUE(status == 128 + SIGKILL || status == 1000 + SIGKILL || status == 125)
        << "round " << round << ", " << moment.text() << ": " << status << job.error();
    ASSERT_EQ(left.of(job), "") << "round " << round << ", " << moment.text();
  }
  EXPECT_GE(noted, 100u);
}

}  // namespace
}  // namespace musubi::test
