// The environment of a starting job, and the fate of its files: ignored signals, closed standard files,
// outputs that cannot be written. Each on one host and over two.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "host_wrappers.h"
#include "job_processes.h"

namespace musubi::test {
namespace {

// As ssh does, and worse: its child ignores none of the launcher's signals, but another one.
const std::string forgetful_host =
    "sh -c 'exec env --default-signal --ignore-signal=WINCH sh -c \"$2\"' host";

using Run = std::vector<std::string> (*)(std::vector<std::string> act);
std::vector<std::string> run_here(std::vector<std::string> act) {
  return run_ranks(2, std::move(act));
}
std::vector<std::string> run_by_shells(std::vector<std::string> act) {
  return run_on_hosts("h1,h2", std::move(act));
}
std::vector<std::string> run_by_forgetful(std::vector<std::string> act) {
  return run_on_hosts("h1,h2", std::move(act), {}, forgetful_host);
}

class Surroundings : public testing::TestWithParam<Run> {
 protected:
  static LaunchedJob::Options job(std::vector<std::string> act, std::vector<std::string> before) {
    return {.arguments = GetParam()(std::move(act)), .before = std::move(before)};
  }
  // `sh` opens and closes files, and becomes the launcher.
  static LaunchedJob::Options job_with_files(std::vector<std::string> act, const std::string& files) {
    return job(std::move(act), {"sh", "-c", "exec \"$@\" " + files, "sh"});
  }
};
INSTANTIATE_TEST_SUITE_P(Launch, Surroundings, testing::Values(&run_here, &run_by_shells, &run_by_forgetful),
                         [](const auto& param) {
                           const Run run = param.param;
                           return run == &run_here ? "Here" : run == &run_by_shells ? "Hosts" : "Forgetful";
                         });

// The mask of /proc that names a signal alone.
std::string mask_of(int signal) {
  std::ostringstream text;
  text << std::hex << (1ull << (signal - 1));
  return std::string(16 - text.str().size(), '0') + text.str();
}

TEST_P(Surroundings, RanksIgnoreWhatTheLauncherWasToldToIgnore) {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGUSR1, SIGXFSZ, SIGRTMIN}) {
    const std::string option = "--ignore-signal=" + std::to_string(signal);
    LaunchedJob ranks(job({"ignored"}, {"env", "--default-signal", option}));
    EXPECT_EQ(ranks.wait(), 0) << ranks.error();
    EXPECT_EQ(ranks.output(), mask_of(signal) + "\n" + mask_of(signal) + "\n") << option;
  }
}

TEST_P(Surroundings, AnIgnoredSignalEndsNothingHoweverOftenItComes) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    const std::string option = "--ignore-signal=" + std::to_string(signal);
    LaunchedJob ranks(job({"catch", std::to_string(SIGUSR2), "0"}, {"env", "--default-signal", option}));
    wait_until_ready(ranks);
    for (int time = 0; time < 3; ++time) {
      ranks.send(signal);
      std::this_thread::sleep_for(std::chrono::milliseconds(250));  // then a second request to end
    }
    EXPECT_EQ(ranks_of_job(ranks).size(), 2u) << option;
    ranks.send(SIGUSR2);
    EXPECT_EQ(ranks.wait(), 7) << option << ranks.error();
    EXPECT_EQ(ranks.error(), "");
  }
}

// Natively, too, a program that asks for the signal gets it.
TEST_P(Surroundings, AProgramMayHandleASignalThatWasIgnored) {
  LaunchedJob ranks(job({"catch", std::to_string(SIGINT), "1"}, {"env", "--ignore-signal=INT"}));
  wait_until_ready(ranks);
  ranks.send(SIGINT);
  EXPECT_EQ(ranks.wait(), 7) << ranks.error();
  EXPECT_EQ(count_of(ranks.output(), "caught by"), 2u);
}

TEST_P(Surroundings, AnOutputThatCannotBeWrittenIsSaidOnceAndTheJobGoesOn) {
  for (const char* act : {"lines", "tail"}) {
    LaunchedJob ranks(job_with_files({act, "40", "50000"}, ">/dev/full"));
    const bool ends_well = std::string(act) == "lines";
    EXPECT_EQ(ranks.wait(), ends_well ? 74 : 128 + SIGKILL);
    EXPECT_EQ(count_of(ranks.error(), "cannot write the job's output: No space left on device"), 1u)
        << ranks.error();
    EXPECT_EQ(count_of(ranks.error(), "musubi:"), ends_well ? 1u : 2u) << ranks.error();
    EXPECT_TRUE(ranks.vanished());
  }
  LaunchedJob errors(job_with_files({"lines", "4", "50"}, "2>/dev/full"));
  EXPECT_EQ(errors.wait(), 74);
  EXPECT_EQ(lines_of(errors.output()), 4u) << "the other output is written";
}

// A limit on the size of files ends a process by a signal, unless the process ignores it.
TEST_P(Surroundings, AnOutputBeyondTheLimitOfFilesIsSaid) {
  const std::string path = testing::TempDir() + "surroundings-" + std::to_string(::getpid());
  LaunchedJob ranks(
      job({"lines", "80", "50000"}, {"sh", "-c", "ulimit -f 4000; exec \"$@\" >" + path, "sh"}));
  EXPECT_EQ(ranks.wait(), 74) << ranks.error().substr(0, 200);
  EXPECT_EQ(count_of(ranks.error(), "cannot write the job's output: File too large"), 1u);
  ::unlink(path.c_str());
}

TEST_P(Surroundings, StandardFilesThatAreClosedAreEmpty) {
  for (const char* files : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "<&- 2>&-"}) {
    LaunchedJob ranks(job_with_files({"lines", "4", "50"}, files));
    EXPECT_EQ(ranks.wait(), 0) << files << ranks.error();
    const std::string closed = files;
    EXPECT_EQ(lines_of(ranks.output()), closed[0] == '>' || closed.find(" >") != std::string::npos ? 0u : 4u)
        << files;
  }
  for (const char* files : {"<&-", ">&-"}) {
    LaunchedJob signalled(job_with_files({"stamped"}, files));
    EXPECT_TRUE(eventually([&] { return count_of(signalled.error(), "ready") == 2; }));
    signalled.send(SIGTERM);
    EXPECT_EQ(signalled.wait(), 128 + SIGTERM) << files;
    EXPECT_TRUE(signalled.vanished());
  }
}

TEST_P(Surroundings, ARankThatClosesEveryFileIsNamedItself) {
  LaunchedJob ranks(job({"closes", "1"}, {}));
  EXPECT_EQ(ranks.wait(), 1);
  EXPECT_EQ(ranks.error().find("musubi: rank 1 (pid "), 0u) << ranks.error();
  EXPECT_NE(ranks.error().find("it has closed the files of the runtime by system calls of its own"),
            std::string::npos);
  EXPECT_EQ(lines_of(ranks.error()), 1u) << ranks.error();
  EXPECT_TRUE(ranks.vanished());
}

// Stopped and continued by the terminal's key; here by a signal to the launcher alone, as the ranks of other
// hosts get it.
TEST(Hosts, RanksStopWithTheLauncherAndGoOnWithIt) {
  for (const char* act : {"ready", "stops_itself"}) {
    LaunchedJob job(run_on_hosts("h1:2,h2", {act}));
    wait_until_ready(job);
    const auto all_are = [&](char state) {
      return eventually([&] {
        for (const pid_t rank : ranks_of_job(job)) {
          if (state_of(rank) != state) return false;
        }
        return ranks_of_job(job).size() == 3u;
      });
    };
    for (int time = 0; time < 3; ++time) {
      job.send(SIGTSTP);
      EXPECT_TRUE(all_are('T')) << act;
      EXPECT_TRUE(eventually([&] { return state_of(job.launcher()) == 'T'; }));
      job.send(SIGCONT);
      EXPECT_TRUE(all_are('S')) << act;
    }
    job.send(SIGTERM);
    EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.error();
  }
}

TEST(Hosts, RanksThatIgnoreTheKeyAreNotStopped) {
  LaunchedJob job(LaunchedJob::Options{.arguments = run_on_hosts("h1,h2", {"ready"}),
                                       .before = {"env", "--ignore-signal=TSTP"}});
  wait_until_ready(job);
  job.send(SIGTSTP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const pid_t rank : ranks_of_job(job)) EXPECT_EQ(state_of(rank), 'S');
  EXPECT_EQ(state_of(job.launcher()), 'S');
}

}  // namespace
}  // namespace musubi::test
