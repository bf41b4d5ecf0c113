// Jobs over several hosts, which are shells on this machine: the user sees the same as on one host.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "host_wrappers.h"
#include "job_processes.h"

namespace musubi::test {
namespace {

// A file of the test's own, removed at its end.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& contents) {
    const int file = ::mkstemp(path.data());
    EXPECT_EQ(::write(file, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
    ::close(file);
  }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  std::string path = testing::TempDir() + "hosts-test-XXXXXX";
};

TEST(Hosts, AllGatherOverOneToFiveHosts) {
  for (const char* hosts : {"h1:3", "h1,h2", "h1:2,h2,h3:3", "h1,h2,h3,h4,h5"}) {
    LaunchedJob job(run_on_hosts(hosts, {"gather", "5", "1000"}));
    EXPECT_EQ(job.wait(), 0) << hosts << job.error();
    EXPECT_EQ(job.error(), "");
  }
}

TEST(Hosts, AllGatherOfBlobsLargerThanThePipes) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"gather", "3", "1000000"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Hosts, FileOfHostsAndFewerRanksThanSlots) {
  const TemporaryFile file("# my hosts\nh1:1\nh2 slots=3  # more\n\n");
  std::vector<std::string> arguments = {"run",   "--hostfile", file.path, "--rsh",          shell_host,
                                        "-n",    "3",          "--plain", "--label-output", RANK_PROGRAM,
                                        "lines", "2",          "5"};
  LaunchedJob job(arguments);
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(lines_of(job.output()), 3u);
}

TEST(Hosts, EveryRankHasTheSecretAndNobodyElseCanReadIt) {
  LaunchedJob job(run_on_hosts("h1:2,h2:2", {"secret"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Hosts, ArgumentsEnvironmentAndFolderAreTheLaunchers) {
  const std::vector<std::string> odd = {"show", "a b", "'\"$HOME\\n", "", "*", "-n", "\xff\n;"};
  LaunchedJob::Options options{run_on_hosts("h1,h2", odd)};
  options.environment = {"SHOWN=it's \"$this\"", "SSH_TEST=1"};
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  std::string expected;
  for (const std::string& word : odd) expected += "<" + word + ">\n";
  char folder[4096];
  expected += "it's \"$this\"\n" + std::string(::getcwd(folder, sizeof folder)) + "\nleft out\n";
  EXPECT_EQ(job.output(), expected);
}

TEST(Hosts, StatusOfTheRankThatFinishes) {
  for (const char* rank : {"0", "3"}) {
    LaunchedJob job(run_on_hosts("h1:2,h2:2", {"finish", rank, "42"}, {"--set", "abort_timeout=100ms"}));
    EXPECT_EQ(job.wait(), 42);
    EXPECT_EQ(job.error(), "");
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Hosts, ARankThatDiesIsNamedWithItsHost) {
  for (const int signal : {SIGKILL, SIGSEGV}) {
    LaunchedJob job(run_on_hosts("h1:2,h2:2", {"die", "3", std::to_string(signal)}));
    EXPECT_EQ(job.wait(), 128 + signal);
    EXPECT_NE(job.error().find("musubi: rank 3 (pid "), std::string::npos) << job.error();
    EXPECT_NE(job.error().find(" on h2) was killed by signal " + std::to_string(signal)), std::string::npos)
        << job.error();
    EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Hosts, LeavingAndAbortingEndTheJob) {
  LaunchedJob left(run_on_hosts("h1:2,h2:2", {"leave", "2", "5"}));
  EXPECT_EQ(left.wait(), 5);
  EXPECT_NE(left.error().find(" on h2) exited with status 5"), std::string::npos) << left.error();
  LaunchedJob aborted(run_on_hosts("h1:2,h2:2", {"abort", "1", "77"}));
  EXPECT_EQ(aborted.wait(), 77);
  EXPECT_NE(aborted.error().find(" on h1): block 17 is lost"), std::string::npos) << aborted.error();
  EXPECT_EQ(lines_of(aborted.error()), 1u);
  LaunchedJob stubborn(run_on_hosts("h1:2,h2:1", {"stubborn"}, {"--set", "abort_timeout=100ms"}));
  EXPECT_EQ(stubborn.wait(), 128 + SIGKILL);
  EXPECT_TRUE(stubborn.vanished());
}

void expect_whole_lines(const std::string& text, std::size_t bytes) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ASSERT_EQ(line.size(), bytes);
    ASSERT_EQ(line.find_first_not_of(line[0]), std::string::npos) << "lines of two ranks were mixed";
  }
}

TEST(Hosts, LinesStayWholeAndNoneIsLost) {
  for (const std::size_t bytes : {1u, 5000u, 1000000u}) {
    LaunchedJob job(run_on_hosts("h1:2,h2:2,h3", {"lines", "10", std::to_string(bytes)}));
    EXPECT_EQ(job.wait(), 0) << job.error().substr(0, 500);
    EXPECT_EQ(lines_of(job.output()), 25u);
    expect_whole_lines(job.output(), bytes);
    expect_whole_lines(job.error(), bytes);
  }
}

TEST(Hosts, TailOfADyingRankIsNotLost) {
  LaunchedJob job(run_on_hosts("h1,h2", {"tail", "3000000"}));
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_EQ(job.output().size(), 3000003u);
  EXPECT_EQ(job.output().substr(3000000), "END");
}

TEST(Hosts, SlowReaderHoldsTheRanksBackAndLosesNothing) {
  LaunchedJob::Options options{run_on_hosts("h1:2,h2:2", {"lines", "40", "500000"})};
  options.keep_reading = false;
  LaunchedJob job(options);
  EXPECT_TRUE(eventually([&] { return ranks_of_job(job).size() == 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(ranks_of_job(job).size(), 4u) << "40 MB cannot have gone anywhere";
  job.read_on();
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(lines_of(job.output()), 80u);
  expect_whole_lines(job.output(), 500000);
}

TEST(Hosts, ReaderThatGoesAwayEndsTheJobQuietly) {
  LaunchedJob::Options options{run_on_hosts("h1,h2", {"chatter"})};
  options.close_output = true;
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 128 + SIGPIPE);
  EXPECT_EQ(job.error(), "");
  EXPECT_TRUE(job.vanished());
}

TEST(Hosts, PromptIsSeenAndInputGoesToRankZero) {
  LaunchedJob job(run_on_hosts("h1,h2:2", {"prompt"}));
  EXPECT_TRUE(eventually([&] { return job.output() == "name? "; })) << job.output();
  job.type("Ada\n");
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(job.output(), "name? hello Ada\n");
}

TEST(Hosts, LongInputComesWholeAndUnreadInputHoldsNothingUp) {
  std::string text;
  for (int line = 0; line < 60000; ++line) text += "line " + std::to_string(line) + "\n";
  LaunchedJob job(run_on_hosts("h1,h2", {"cat"}));
  std::thread writer([&] { job.type(text); });
  EXPECT_EQ(job.wait(), 0) << job.error();
  writer.join();
  EXPECT_EQ(job.output().size(), text.size());
  EXPECT_TRUE(job.output() == text);
  LaunchedJob unread(run_on_hosts("h1,h2", {"unread"}));
  EXPECT_EQ(unread.wait(), 0) << "whose input stays open";
}

TEST(Hosts, SignalsGoWhereTheyGoOnOneHost) {
  LaunchedJob all(run_on_hosts("h1:2,h2:2", {"catch", std::to_string(SIGTERM), "1"}));
  wait_until_ready(all);
  all.send(SIGTERM);
  EXPECT_EQ(all.wait(), 7) << "a program that handles it ends as it likes";
  EXPECT_EQ(count_of(all.output(), "caught by"), 4u);
  LaunchedJob one(
      run_on_hosts("h1:2,h2", {"catch", std::to_string(SIGUSR1), "0"}, {"--set", "abort_timeout=100ms"}));
  wait_until_ready(one);
  one.send(SIGUSR1);
  EXPECT_EQ(one.wait(), 7);
  EXPECT_EQ(one.output(), "ready\ncaught by 0\n");
}

TEST(Hosts, InterruptEndsTheJobWithoutAWordAndASecondOneKills) {
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    LaunchedJob job(run_on_hosts("h1,h2", {"ready"}));
    wait_until_ready(job);
    job.send(signal);
    EXPECT_EQ(job.wait(), 128 + signal);
    EXPECT_EQ(job.error(), "");
    EXPECT_TRUE(job.vanished());
  }
  LaunchedJob deaf(run_on_hosts("h1,h2", {"deaf"}));
  wait_until_ready(deaf);
  deaf.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  deaf.send(SIGINT);
  EXPECT_EQ(deaf.wait(), 128 + SIGKILL);
  EXPECT_EQ(deaf.error(), "");
  EXPECT_TRUE(deaf.vanished());
}

TEST(Hosts, AStoppedLauncherIsWaitedFor) {
  LaunchedJob job(run_on_hosts("h1,h2", {"ready"}, {"--set", "host_timeout=500ms"}));
  wait_until_ready(job);
  job.send(SIGTSTP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(ranks_of_job(job).size(), 2u);
  job.send(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  EXPECT_EQ(ranks_of_job(job).size(), 2u) << job.error();
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.error();
}

TEST(Hosts, QuitAsksAllHostsForAReport) {
  LaunchedJob job(run_on_hosts("h1,h2", {"ready"}, {}, shell_host, false));
  wait_until_ready(job);
  job.send(SIGQUIT);
  EXPECT_TRUE(eventually([&] { return lines_of(job.error()) >= 3; })) << job.error();
  EXPECT_NE(job.error().find("musubi: the threads of the job:\n  rank 0 (pid "), std::string::npos);
  EXPECT_NE(job.error().find(" on h2)"), std::string::npos) << job.error();
  job.send(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST(Hosts, HostsThatCannotBeUsedAreNamedBeforeTheStart) {
  // h2 prints a line and fails, h3 does not know the command.
  const std::string rsh =
      "sh -c 'case $1 in h2) echo no route to $1 >&2; exit 255;; h3) exec sh -c \"exec /nowhere/musubi "
      "proxy\";; *) exec sh -c \"$2\";; esac' host";
  LaunchedJob job(run_on_hosts("h1,h2,h3", {"gather", "1", "1"}, {}, rsh));
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find("musubi: host h2 cannot be reached: the command that calls it has ended (exit "
                             "status 255: no route to h2)"),
            std::string::npos)
      << job.error();
  EXPECT_NE(job.error().find("musubi: host h3 cannot be reached"), std::string::npos) << job.error();
  EXPECT_NE(job.error().find("/nowhere/musubi"), std::string::npos) << job.error();
  EXPECT_EQ(lines_of(job.error()), 2u) << job.error();
  EXPECT_TRUE(job.vanished());
}

TEST(Hosts, AShellThatPrintsAtItsStartDoesNoHarm) {
  const std::string rsh = "sh -c 'echo welcome to $1; echo; exec sh -c \"$2\"' host";
  LaunchedJob job(run_on_hosts("h1,h2", {"gather", "2", "10"}, {}, rsh));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Hosts, ASilentHostIsNotWaitedForForEver) {
  const std::string rsh = "sh -c 'test $1 = h1 || exec sleep 60; exec sh -c \"$2\"' host";
  LaunchedJob job(run_on_hosts("h1,h2", {"gather", "2", "10"}, {"--set", "start_timeout=1s"}, rsh));
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find("host h2 cannot be reached: no sign of life for 1 s"), std::string::npos)
      << job.error();
  EXPECT_TRUE(job.vanished());
}

TEST(Hosts, WrongHostsAreRefused) {
  for (const char* hosts :
       {"h1:0", "h1:", "h1,,h2", "-oProxyCommand=x", "h1:2:3", "h1;reboot", "h$(reboot)"}) {
    LaunchedJob job(run_on_hosts(hosts, {"gather", "1", "1"}));
    EXPECT_EQ(job.wait(), 2) << hosts;
    EXPECT_NE(job.error().find("is not a host"), std::string::npos) << job.error();
  }
  LaunchedJob many(run_on_hosts("h1:2", {"gather", "1", "1"}, {"-n", "3"}));
  EXPECT_EQ(many.wait(), 2);
  EXPECT_NE(many.error().find("3 ranks do not fit: the hosts have 2 slots"), std::string::npos)
      << many.error();
}

// An empty variable of a script is no list of hosts, and no file of this name.
TEST(Hosts, OptionsWithoutAValueAreRefused) {
  for (const char* option : {"--hosts", "--hostfile", "--rsh", "--remote-path", "--trace", "--network",
                             "--bind", "--threads", "-t", "-n"}) {
    LaunchedJob job({"run", option, "", "/bin/true"});
    EXPECT_EQ(job.wait(), 2) << option;
    EXPECT_EQ(lines_of(job.error()), 1u) << option << job.error();
  }
  LaunchedJob job({"run", "--hosts", "", "/bin/true"});
  EXPECT_EQ(job.wait(), 2);
  EXPECT_NE(job.error().find("--hosts: its value is empty; give one, or leave the option out"),
            std::string::npos)
      << job.error();
}

TEST(Hosts, WhatAHostPrintsDoesNothingToTheTerminal) {
  const std::string clear = "printf \"\\\\033[2J\\\\033]0;mine\\\\007\\\\n\"";
  for (const std::string& print : {clear, clear + " >&2"}) {
    LaunchedJob job(run_on_hosts("h1", {"gather", "1", "1"}, {}, "sh -c '" + print + "; exit 3' host"));
    EXPECT_EQ(job.wait(), 125);
    EXPECT_NE(job.error().find("?[2J?]0;mine?"), std::string::npos) << job.error();
    EXPECT_EQ(job.error().find('\033'), std::string::npos);
  }
}

TEST(Hosts, TheDoctorLooksAtAllOfThem) {
  const std::string rsh = "sh -c 'test $1 = h3 && { echo no route >&2; exit 255; }; exec sh -c \"$2\"' host";
  LaunchedJob job({"doctor", "--hosts", "h1:2,h2:3,h3", "--rsh", rsh});
  EXPECT_EQ(job.wait(), 1);
  const std::string table = job.output();
  EXPECT_EQ(table.find("host  ranks  answer  Musubi  kernel"), 0u) << table;
  EXPECT_NE(table.find("\nh2    3      "), std::string::npos) << table;
  EXPECT_NE(table.find("\nh3    1      -"), std::string::npos) << table;
  EXPECT_NE(table.find("problem: host h3 cannot be reached"), std::string::npos) << table;
}

TEST(Hosts, SixtyFourRanksOnEightHosts) {
  const auto begin = std::chrono::steady_clock::now();
  LaunchedJob job(run_on_hosts("a:8,b:8,c:8,d:8,e:8,f:8,g:8,h:8", {"gather", "1", "100"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("64 ranks on 8 hosts started, met and ended in %.2f s\n", time.count());
}

}  // namespace
}  // namespace musubi::test
