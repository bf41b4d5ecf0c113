// The launcher, driven through the real command: gathering, output, signals, every way to end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "launched_job.h"
#include "left_overs.h"
#include "moments.h"

namespace musubi::test {
namespace {

TEST(Launch, AllGatherOfOneToSixteenRanks) {
  for (const int ranks : {1, 2, 3, 4, 7, 16}) {
    LaunchedJob job(run_ranks(ranks, {"gather", "5", "1000"}));
    EXPECT_EQ(job.wait(), 0) << ranks << job.error();
    EXPECT_EQ(job.error(), "");
  }
}

TEST(Launch, AllGatherOfBlobsLargerThanTheSocketsBuffers) {
  LaunchedJob job(run_ranks(4, {"gather", "3", "1000000"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Launch, StatusOfTheRankThatFinishes) {
  for (const char* rank : {"0", "2"}) {
    LaunchedJob job(run_ranks(3, {"finish", rank, "42"}, {"--set", "abort_timeout=100ms"}));
    EXPECT_EQ(job.wait(), 42);
    EXPECT_EQ(job.error(), "") << "the other ranks end silently";
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Launch, RankKilledBySignal) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGABRT}) {
    LaunchedJob job(run_ranks(3, {"die", "1", std::to_string(signal)}));
    EXPECT_EQ(job.wait(), 128 + signal);
    EXPECT_NE(job.error().find("musubi: rank 1 (pid "), std::string::npos) << job.error();
    EXPECT_NE(job.error().find("was killed by signal " + std::to_string(signal)), std::string::npos);
    EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Launch, RankThatLeavesWithoutFinish) {
  LaunchedJob failed(run_ranks(3, {"leave", "2", "5"}));
  EXPECT_EQ(failed.wait(), 5);
  EXPECT_NE(failed.error().find("rank 2"), std::string::npos);
  EXPECT_NE(failed.error().find("exited with status 5"), std::string::npos);
  LaunchedJob silent(run_ranks(3, {"leave", "0", "0"}));
  EXPECT_EQ(silent.wait(), 1) << "the end of one rank is a failure, whatever its status";
  EXPECT_NE(silent.error().find("exited with status 0"), std::string::npos);
}

TEST(Launch, AbortGivesReasonAndStatus) {
  LaunchedJob job(run_ranks(4, {"abort", "3", "77"}));
  EXPECT_EQ(job.wait(), 77);
  EXPECT_NE(job.error().find("rank 3 (pid "), std::string::npos);
  EXPECT_NE(job.error().find("block 17 is lost"), std::string::npos);
  EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
  EXPECT_TRUE(job.vanished());
}

TEST(Launch, RanksThatIgnoreTerminationAreKilled) {
  LaunchedJob job(run_ranks(3, {"stubborn"}, {"--set", "abort_timeout=100ms"}));
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_TRUE(job.vanished());
}

void expect_whole_lines(const std::string& text, std::size_t bytes) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ASSERT_EQ(line.size(), bytes);
    ASSERT_EQ(line.find_first_not_of(line[0]), std::string::npos) << "lines of two ranks were mixed";
  }
}

TEST(Launch, LinesStayWhole) {
  for (const std::size_t bytes : {1u, 100u, 5000u, 1000000u}) {
    LaunchedJob job(run_ranks(6, {"lines", "10", std::to_string(bytes)}));
    EXPECT_EQ(job.wait(), 0) << job.error().substr(0, 500);
    EXPECT_EQ(lines_of(job.output()), 30u);
    expect_whole_lines(job.output(), bytes);
    expect_whole_lines(job.error(), bytes);
  }
}

TEST(Launch, LabelsStandBeforeEachLine) {
  LaunchedJob job(run_ranks(3, {"lines", "20", "50"}, {"--label-output"}));
  EXPECT_EQ(job.wait(), 0);
  for (int rank = 0; rank < 3; ++rank) {
    const std::string line =
        "[" + std::to_string(rank) + "] " + std::string(50, static_cast<char>('a' + rank)) + "\n";
    EXPECT_EQ(count_of(job.output(), line), 10u);
  }
  EXPECT_EQ(lines_of(job.output()), 30u);
}

TEST(Launch, TailOfADyingRankIsNotLost) {
  LaunchedJob job(run_ranks(2, {"tail", "3000000"}));
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_EQ(job.output().size(), 3000003u);
  EXPECT_EQ(job.output().substr(3000000), "END");
}

TEST(Launch, SlowReaderHoldsTheRanksBackAndLosesNothing) {
  LaunchedJob::Options options{run_ranks(4, {"lines", "40", "500000"})};
  options.keep_reading = false;
  LaunchedJob job(options);
  // No process reads: the ranks must wait with their output, and supervision must go on.
  EXPECT_TRUE(eventually([&] { return job.processes().size() == 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(job.processes().size(), 4u) << "40 MB cannot have gone anywhere";
  job.read_on();
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(lines_of(job.output()), 80u);
  expect_whole_lines(job.output(), 500000);
}

TEST(Launch, ReaderThatGoesAwayEndsTheJobQuietly) {
  LaunchedJob::Options options{run_ranks(2, {"chatter"})};
  options.close_output = true;
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 128 + SIGPIPE);
  EXPECT_EQ(job.error(), "");
  EXPECT_TRUE(job.vanished());
}

TEST(Launch, PromptIsSeenAndInputGoesToRankZero) {
  LaunchedJob job(run_ranks(3, {"prompt"}));
  EXPECT_TRUE(eventually([&] { return job.output() == "name? "; })) << job.output();
  job.type("Ada\n");
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(job.output(), "name? hello Ada\n");
}

TEST(Launch, ProcessStartedByARankIsNoRank) {
  LaunchedJob job(run_ranks(2, {"child"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Launch, TerminationIsPassedToAllRanks) {
  LaunchedJob job(run_ranks(3, {"catch", std::to_string(SIGTERM), "1"}));
  wait_until_ready(job);
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 7) << "a program that handles it ends as it likes";
  EXPECT_EQ(count_of(job.output(), "caught by"), 3u);
}

TEST(Launch, UserSignalGoesToRankZeroAlone) {
  LaunchedJob job(run_ranks(3, {"catch", std::to_string(SIGUSR1), "0"}, {"--set", "abort_timeout=100ms"}));
  wait_until_ready(job);
  job.send(SIGUSR1);
  EXPECT_EQ(job.wait(), 7);
  EXPECT_EQ(job.output(), "ready\ncaught by 0\n");
}

TEST(Launch, InterruptEndsTheJobWithoutAWord) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    LaunchedJob job(run_ranks(3, {"ready"}));
    wait_until_ready(job);
    job.send(signal);
    EXPECT_EQ(job.wait(), 128 + signal);
    EXPECT_EQ(job.error(), "");
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Launch, SecondInterruptKills) {
  LaunchedJob deaf(run_ranks(2, {"deaf"}));
  wait_until_ready(deaf);
  deaf.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // longer than a copy of the same signal takes
  deaf.send(SIGINT);
  EXPECT_EQ(deaf.wait(), 128 + SIGKILL);
  EXPECT_EQ(deaf.error(), "");
  EXPECT_TRUE(deaf.vanished());
}

TEST(Launch, StopAndContinueReachTheRanks) {
  LaunchedJob job(run_ranks(2, {"ready"}));
  wait_until_ready(job);
  const auto state = [](pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string id, name, letter;
    file >> id >> name >> letter;
    return letter;
  };
  const std::vector<pid_t> ranks = job.processes();
  ASSERT_EQ(ranks.size(), 2u);
  job.send(SIGTSTP);
  EXPECT_TRUE(eventually([&] { return state(ranks[0]) == "T" && state(ranks[1]) == "T"; }));
  job.send(SIGCONT);
  EXPECT_TRUE(eventually([&] { return state(ranks[0]) == "S" && state(ranks[1]) == "S"; }));
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST(Launch, KilledLauncherTakesTheRanksWithIt) {
  LaunchedJob job(run_ranks(4, {"ready"}));
  wait_until_ready(job);
  job.send(SIGKILL);
  EXPECT_EQ(job.wait(), 1000 + SIGKILL);
  EXPECT_TRUE(job.vanished());
}

TEST(Launch, TwoJobsSideBySide) {
  LaunchedJob first(run_ranks(4, {"gather", "200", "3000"})), second(run_ranks(3, {"gather", "200", "5000"}));
  EXPECT_EQ(first.wait(), 0) << first.error();
  EXPECT_EQ(second.wait(), 0) << second.error();
}

// The ranks in the order in which they were started.
std::vector<pid_t> ranks_of(const LaunchedJob& job) {
  std::vector<pid_t> ranks = job.processes();
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TEST(Launch, HundredRandomKillsLeaveNothing) {
  Random random(seed_of_test());
  std::size_t noted = 0;
  for (int round = 0; round < 100; ++round) {
    const Moment moment = Moment::draw(random, 3, 12);
    const std::size_t victim = random.below(moment.processes + 1);
    LaunchedJob job(run_ranks(3, {"chatter"}));
    ASSERT_TRUE(moment.await(job)) << job.error();
    LeftOvers left;
    left.look_at(job);
    noted += left.noted();
    std::vector<pid_t> victims = ranks_of(job);
    victims.insert(victims.begin() + static_cast<std::ptrdiff_t>(std::min(victim, victims.size())),
                   job.launcher());
    ::kill(victims[victim], SIGKILL);
    const int status = job.wait();
    // 125: the victim was a rank that had not executed its program yet.
    ASSERT_TRUE(status == 128 + SIGKILL || status == 1000 + SIGKILL || status == 125)
        << "round " << round << ", " << moment.text() << ": " << status << job.error();
    ASSERT_EQ(left.of(job), "") << "round " << round << ", " << moment.text();
  }
  EXPECT_GE(noted, 100u);  // the job had something to leave
}

// The objects that the test above looks for can be found.
TEST(Launch, WhatIsLeftIsSeen) {
  LaunchedJob job(run_ranks(2, {"ready"}));
  wait_until_ready(job);
  // A file that the job's processes have open, in the folder that is searched.
  LeftOvers left;
  left.look_at(job);
  ASSERT_GE(left.noted(), 2u);
  // Another process gets hold of the job's memory file.
  int held = -1;
  const std::string files = "/proc/" + std::to_string(job.launcher()) + "/fd";
  for (const auto& file : std::filesystem::directory_iterator(files)) {
    char name[64] = {};
    if (held >= 0 || ::readlink(file.path().c_str(), name, sizeof name - 1) <= 0) continue;
    if (std::string(name).starts_with("/memfd:musubi"))
      held = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  }
  ASSERT_GE(held, 0);
  job.send(SIGKILL);
  job.wait();
  const std::string seen = left.of(job);
  EXPECT_NE(seen.find("process " + std::to_string(::getpid()) + " has memfd "), std::string::npos) << seen;
  ::close(held);
  EXPECT_EQ(left.of(job), "");
}

TEST(Launch, AProcessThatIsLeftIsSeen) {
  LaunchedJob job(run_ranks(2, {"outlive"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  job.send(SIGKILL);
  job.wait();
  EXPECT_NE(left.of(job).find(" lives\n"), std::string::npos);
}

}  // namespace
}  // namespace musubi::test
