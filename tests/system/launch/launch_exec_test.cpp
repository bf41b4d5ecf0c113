// Jobs that another launcher starts, by `musubi exec`: the user sees the same as with `musubi run`.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "job_processes.h"
#include "left_overs.h"
#include "other_launchers.h"

namespace musubi::test {
namespace {

// The process of `musubi exec` for each rank, by rank: they are the launcher's children, started in order.
std::vector<pid_t> execs_of(const LaunchedJob& job) {
  auto found = processes_with(job, "/musubi exec ");
  std::erase_if(found,
                [](pid_t process) { return command_of(process).find("pmi_launcher") != std::string::npos; });
  std::ranges::sort(found);
  return found;
}

class OtherLaunchers : public testing::TestWithParam<OtherLauncher> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
};

TEST_P(OtherLaunchers, InputGoesToRankZeroAndStatusComesFromAnyRank) {
  LaunchedJob job(exec_by(GetParam(), 3, {"cat"}));
  job.type("one\ntwo\n");
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(job.output(), "one\ntwo\n");
  LaunchedJob status(exec_by(GetParam(), 3, {"finish", "2", "42"}));
  EXPECT_EQ(status.wait(), 42) << status.error();
  EXPECT_EQ(own_lines(status.error()), "");
}

TEST_P(OtherLaunchers, ADeadRankIsNamedOnceAndNothingIsLeft) {
  LaunchedJob job(exec_by(GetParam(), 4, {"ready"}));
  wait_until_ready(job);
  LeftOvers left;
  left.look_at(job);
  EXPECT_GT(left.noted(), 0u);
  const auto ranks = ranks_of_job(job);
  ASSERT_GE(ranks.size(), 4u);
  ::kill(*std::ranges::max_element(ranks), SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL) << job.error();
  EXPECT_EQ(count_of(job.error(), "was killed by signal 9 (SIGKILL); ending the job"), 1u) << job.error();
  EXPECT_EQ(lines_of(own_lines(job.error())), 1u) << job.error();
  EXPECT_EQ(left.of(job), "");
}

TEST_P(OtherLaunchers, ARefusalIsSaidOnce) {
  LaunchedJob job(exec_by(GetParam(), 3, {"gather", "1", "1"}, {"-n", "2", "--plain"}));
  EXPECT_EQ(job.wait(), 2) << job.error();
  EXPECT_EQ(own_lines(job.error()),
            "musubi: the launcher has started 3 ranks and not 2; leave -n out, or correct it\n");
}

const auto name_of_launcher = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Exec, OtherLaunchers, testing::Values(pmi_launcher(), mpich(), open_mpi()),
                         name_of_launcher);

// Any process of the launcher's dies: that of rank 0, of another rank, the launcher itself. The test's
// launcher ends no process.
TEST(Exec, NothingIsLeftWhoeverDies) {
  for (const std::size_t victim : {0u, 1u, 3u}) {
    LaunchedJob job(exec_by(pmi_launcher(), 4, {"ready"}));
    wait_until_ready(job);
    LeftOvers left;
    left.look_at(job);
    const auto execs = execs_of(job);
    ASSERT_EQ(execs.size(), 4u);
    ::kill(execs[victim], SIGKILL);
    EXPECT_EQ(job.wait(), victim == 0 ? 128 + SIGKILL : 125) << job.error();
    const std::string line = "(rank " + std::to_string(victim) + ") is lost: its proxy has ended";
    EXPECT_EQ(count_of(job.error(), line), victim == 0 ? 0u : 1u) << job.error();
    EXPECT_LE(lines_of(job.error()), 1u) << job.error();
    EXPECT_EQ(left.of(job), "");
  }
}

// All bytes that cross the network: the proxies' first words, and no variable of the environment.
TEST(Exec, OrdersCannotBeReadOnTheirWay) {
  const int network = ::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
  if (network < 0) GTEST_SKIP() << "this user may not listen to the network";
  constexpr int room = 64 << 20;
  ::setsockopt(network, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  const std::string token = "token-" + std::to_string(::getpid()) + "-of-this-test";
  LaunchedJob::Options options = exec_by(pmi_launcher(), 3, {"gather", "1", "1"});
  options.environment.push_back("TOKEN_OF_USER=" + token);
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  std::string heard;
  std::vector<char> packet(1 << 16);
  for (ssize_t bytes; (bytes = ::recv(network, packet.data(), packet.size(), 0)) > 0;) {
    heard.append(packet.data(), static_cast<std::size_t>(bytes));
  }
  ::close(network);
  EXPECT_NE(heard.find("musubi proxy:"), std::string::npos);
  EXPECT_EQ(heard.find(token), std::string::npos);
}

TEST(Exec, ASignalForAllProcessesIsOneForTheProgram) {
  LaunchedJob job(exec_by(pmi_launcher(), 4, {"ready"}));
  wait_until_ready(job);
  for (const pid_t process : execs_of(job)) ::kill(process, SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.error();
  EXPECT_EQ(job.error(), "");
  EXPECT_TRUE(job.vanished());
}

TEST(Exec, ASignalForOneRankIsOneForAll) {
  LaunchedJob job(exec_by(pmi_launcher(), 4, {"ready"}));
  wait_until_ready(job);
  ::kill(execs_of(job).at(2), SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.error();
  EXPECT_EQ(job.error(), "");
  EXPECT_TRUE(job.vanished());
}

TEST(Exec, TheSecretIsInNoCommandLineAndNoEnvironment) {
  LaunchedJob job(exec_by(pmi_launcher(), 3, {"secret"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

// Another kernel's processes are not this one's: such ranks do not share memory, and say so at their start.
TEST(Exec, RanksInNamespacesOfProcessesAreOnHostsOfTheirOwn) {
  if (std::system("unshare --pid --fork true 2>/dev/null") != 0)
    GTEST_SKIP() << "the caller may not make namespaces of processes";
  OtherLauncher apart = pmi_launcher();
  LaunchedJob::Options options =
      exec_by(apart, 3, {"gather", "3", "5000"}, {"--plain", "--set", "network=127.0.0.1"});
  options.before.insert(options.before.end(), {"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Exec, ARankThatFindsNoWayIsNamed) {
  if (std::system("unshare --pid --net --fork true 2>/dev/null") != 0)
    GTEST_SKIP() << "the caller may not make network namespaces";
  LaunchedJob::Options options =
      exec_by(pmi_launcher(), 2, {"gather", "1", "1"},
              {"--plain", "--set", "network=127.0.0.1", "--set", "start_timeout=1s"});
  options.before.insert(options.before.end(),
                        {"unshare", "--pid", "--net", "--fork", "--mount-proc", "--kill-child"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 125) << job.error();
  EXPECT_NE(job.error().find("musubi: rank 1 found no way to rank 0: "), std::string::npos) << job.error();
  EXPECT_NE(job.error().find("musubi: of 2 ranks 1 did not call rank 0 on "), std::string::npos)
      << job.error();
}

TEST(Exec, AnotherProgramUnderTheSamePathIsSaidBeforeTheStart) {
  if (std::system("unshare --mount true 2>/dev/null") != 0)
    GTEST_SKIP() << "the caller may not make mount namespaces";
  LaunchedJob::Options options = exec_by(pmi_launcher(), 4, {"gather", "1", "1"});
  const std::string other = std::string("mount --bind /bin/ls ") + RANK_PROGRAM + " && exec \"$@\"";
  options.before.insert(
      options.before.end(),
      {"sh", "-c", "[ $PMI_RANK -lt 2 ] && exec \"$@\"; exec unshare --mount sh -c '" + other + "' sh \"$@\"",
       "sh"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find(std::string(": program ") + RANK_PROGRAM + " is build id "), std::string::npos)
      << job.error();
  EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
}

TEST(Exec, WithoutALauncherItSaysHowToStart) {
  LaunchedJob job(std::vector<std::string>{"exec", "--plain", RANK_PROGRAM, "gather", "1", "1"});
  EXPECT_EQ(job.wait(), 125);
  EXPECT_EQ(job.error().find("musubi: no launcher has started this process; write `mpirun -n 4"), 0u)
      << job.error();
}

TEST(Exec, SeveralCopiesOfRunAreRefusedOnce) {
  LaunchedJob::Options options = exec_by(pmi_launcher(), 3, {"gather", "1", "1"});
  options.arguments.front() = "run";
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 2);
  EXPECT_EQ(job.error(),
            "musubi: mpirun has started 3 copies of `musubi run`, which would be 3 jobs; write `musubi exec` "
            "instead, without -n\n");
}

TEST(Exec, SrunWithoutAnExchangeIsRefusedOnce) {
  for (const char* rank : {"0", "1"}) {
    LaunchedJob::Options options{{"exec", "--plain", RANK_PROGRAM, "gather", "1", "1"}};
    options.environment = {std::string("SLURM_PROCID=") + rank, "SLURM_STEP_NUM_TASKS=4"};
    LaunchedJob job(options);
    EXPECT_EQ(job.wait(), 125);
    EXPECT_EQ(count_of(job.error(), "use `srun --mpi=pmi2`"), *rank == '0' ? 1u : 0u) << job.error();
  }
}

// Replaces Slurm's command: prints its arguments.
class FakeSrun {
 public:
  explicit FakeSrun(const std::string& kinds) {
    std::ofstream(folder_ + "/srun") << "#!/bin/sh\n[ \"$*\" = --mpi=list ] && echo '" << kinds
                                     << "' >&2 && exit\nprintf '<%s>' \"$@\"\n";
    [[maybe_unused]] const int done = std::system(("chmod +x " + folder_ + "/srun").c_str());
  }
  ~FakeSrun() { [[maybe_unused]] const int done = std::system(("rm -r " + folder_).c_str()); }
  std::string path() const { return std::string("PATH=") + folder_ + ":" + std::getenv("PATH"); }

 private:
  std::string folder_ = [] {
    std::string folder = testing::TempDir() + "srun-XXXXXX";
    return std::string(::mkdtemp(folder.data()));
  }();
};

LaunchedJob::Options in_allocation(const FakeSrun& srun, std::vector<std::string> options,
                                   std::vector<std::string> environment) {
  LaunchedJob::Options job;
  job.before = {"env", srun.path(), "SLURM_JOB_ID=7"};
  job.before.insert(job.before.end(), environment.begin(), environment.end());
  job.arguments = {"run"};
  job.arguments.insert(job.arguments.end(), options.begin(), options.end());
  job.arguments.insert(job.arguments.end(), {RANK_PROGRAM, "a b"});
  return job;
}

TEST(InAllocation, RunOfSeveralNodesBecomesSrun) {
  const FakeSrun srun("\tpmix\n\tpmi2");
  LaunchedJob job(in_allocation(srun, {"-n", "6", "--plain", "--set", "stats=true"},
                                {"SLURM_JOB_NUM_NODES=3", "SLURM_CPUS_PER_TASK=2"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(job.output(),
            std::string("<--overlap><--export=ALL><--input=0><--mpi=pmi2><--ntasks=6><--cpus-per-task=2><") +
                MUSUBI_COMMAND + "><exec><-n><6><--plain><--set><stats=true><--><" + RANK_PROGRAM + "><a b>");
}

TEST(InAllocation, TheKindOfExchangeIsOneThatSlurmHas) {
  const FakeSrun with_pmix("MPI plugin types are...\n\tpmix\n\tnone");
  LaunchedJob job(in_allocation(with_pmix, {}, {"SLURM_JOB_NUM_NODES=2"}));
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_NE(job.output().find("<--mpi=pmix>"), std::string::npos) << job.output();
  const FakeSrun without("\tnone\n\tcray_shasta");
  LaunchedJob refused(in_allocation(without, {}, {"SLURM_JOB_NUM_NODES=2"}));
  EXPECT_EQ(refused.wait(), 125);
  EXPECT_EQ(refused.error().find("musubi: this Slurm has neither of the plugins pmi2 and pmix"), 0u)
      << refused.error();
}

TEST(InAllocation, OneNodeNeedsNoSrunAndGetsARankForEachTask) {
  const FakeSrun srun("\tpmi2");
  LaunchedJob::Options options =
      in_allocation(srun, {"--plain"}, {"SLURM_JOB_NUM_NODES=1", "SLURM_NTASKS=3"});
  options.arguments.back() = "lines";
  options.arguments.insert(options.arguments.end(), {"1", "4"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(lines_of(job.output()), 3u);
}

}  // namespace
}  // namespace musubi::test
