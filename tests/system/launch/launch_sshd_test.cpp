// Jobs over a real sshd on this machine, and over network namespaces.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "host_wrappers.h"
#include "job_processes.h"
#include "sshd.h"

namespace musubi::test {
namespace {

int free_port() {
  return 20000 + ::getpid() % 20000;
}

// Processes whose command line has `words`, of all users' jobs: those started by sshd do not carry the job's
// mark.
std::vector<pid_t> all_with(const std::string& words) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && command_of(process).find(words) != std::string::npos) found.push_back(process);
  }
  return found;
}

// The last word of the command line of this test's ranks, and of no other test's.
std::string mark() {
  static int count = 0;
  return "mark-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

TEST(Sshd, AJobOverSsh) {
  if (const std::string missing = Sshd::missing(); !missing.empty()) GTEST_SKIP() << missing;
  Sshd sshd("127.0.0.1", free_port());
  ASSERT_TRUE(sshd.ready()) << sshd.log();
  LaunchedJob job(run_on_hosts("127.0.0.1:2,localhost:2", {"secret"}, {}, sshd.rsh()));
  EXPECT_EQ(job.wait(), 0) << job.error() << sshd.log();
  LaunchedJob lines(run_on_hosts("127.0.0.1:2,localhost:2", {"lines", "10", "5000"}, {}, sshd.rsh()));
  EXPECT_EQ(lines.wait(), 0) << lines.error();
  EXPECT_EQ(std::ranges::count(lines.output(), '\n'), 20);
  const std::vector<std::string> odd = {"show", "a b", "'\"$HOME\\", "*", ""};
  LaunchedJob shown(run_on_hosts("127.0.0.1,localhost", odd, {}, sshd.rsh()));
  EXPECT_EQ(shown.wait(), 0) << shown.error();
  EXPECT_EQ(shown.output().substr(0, shown.output().find("nothing")),
            "<show>\n<a b>\n<'\"$HOME\\>\n<*>\n<>\n");
}

TEST(Sshd, DeathsBehindSsh) {
  if (const std::string missing = Sshd::missing(); !missing.empty()) GTEST_SKIP() << missing;
  Sshd sshd("127.0.0.1", free_port() + 1);
  ASSERT_TRUE(sshd.ready()) << sshd.log();
  for (const char* victim : {"launcher", "ssh", "rank"}) {
    const std::string words = mark();
    LaunchedJob job(run_on_hosts("127.0.0.1:2,localhost:2", {"ready", words}, {}, sshd.rsh()));
    ASSERT_TRUE(eventually([&] { return job.output() == "ready\n"; })) << job.error();
    auto ranks = all_with("launch_rank_program ready " + words);
    std::erase(ranks, job.launcher());
    ASSERT_EQ(ranks.size(), 4u);
    if (std::string(victim) == "launcher") job.send(SIGKILL);
    if (std::string(victim) == "ssh") ::kill(processes_with(job, "BatchMode=yes").at(0), SIGKILL);
    if (std::string(victim) == "rank") ::kill(ranks.back(), SIGKILL);
    EXPECT_GT(job.wait(), 100) << victim << job.error();
    EXPECT_TRUE(eventually([&] { return all_with("launch_rank_program ready " + words).empty(); })) << victim;
  }
}

TEST(Sshd, AKeyThatIsNotAcceptedIsSaidBeforeTheStart) {
  if (const std::string missing = Sshd::missing(); !missing.empty()) GTEST_SKIP() << missing;
  Sshd sshd("127.0.0.1", free_port() + 2);
  ASSERT_TRUE(sshd.ready()) << sshd.log();
  std::string rsh = sshd.rsh();
  rsh.replace(rsh.find("user_key"), 8, "host_key");
  LaunchedJob job(run_on_hosts("127.0.0.1,localhost", {"gather", "1", "1"}, {}, rsh));
  EXPECT_EQ(job.wait(), 125);
  EXPECT_NE(job.error().find("host 127.0.0.1 cannot be reached"), std::string::npos) << job.error();
  EXPECT_NE(job.error().find("Permission denied"), std::string::npos) << job.error();
}

// A namespace with a link to this one. Needs root.
class Namespace {
 public:
  Namespace() : name_("musubi-test-" + std::to_string(::getpid())) {
    const std::string link = "mt" + std::to_string(::getpid());
    made_ = run_shell("ip netns add " + name_ + " 2>/dev/null && ip link add " + link +
                      "a type veth peer name " + link + "b netns " + name_ +
                      " && ip addr add 10.213.7.1/24 dev " + link + "a && ip link set " + link +
                      "a up && ip -n " + name_ + " addr add 10.213.7.2/24 dev " + link + "b && ip -n " +
                      name_ + " link set " + link + "b up && ip -n " + name_ + " link set lo up") == 0;
    link_ = link + "a";
  }
  ~Namespace() { run_shell("ip link del " + link_ + " 2>/dev/null; ip netns del " + name_ + " 2>/dev/null"); }
  bool made() const { return made_; }
  const std::string& name() const { return name_; }
  void set_link(const char* state) const { run_shell("ip link set " + link_ + " " + state); }

 private:
  std::string name_, link_;
  bool made_ = false;
};

TEST(Namespaces, AreHosts) {
  const Namespace other;
  if (!other.made()) GTEST_SKIP() << "the caller may not make network namespaces";
  const std::string rsh =
      "sh -c 'case $1 in h1) exec sh -c \"$2\";; *) exec ip netns exec \"$1\" sh -c \"$2\";; esac' host";
  LaunchedJob job(run_on_hosts("h1:2," + other.name() + ":2", {"gather", "3", "5000"}, {}, rsh));
  EXPECT_EQ(job.wait(), 0) << job.error();
}

TEST(Namespaces, AnotherProgramUnderTheSamePathIsSaidBeforeTheStart) {
  if (run_shell("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "the caller may not make mount namespaces";
  const std::string program = RANK_PROGRAM;
  const std::string rsh = "sh -c 'case $1 in h2) exec unshare -m sh -c \"mount --bind /bin/ls " + program +
                          " && $2\";; *) exec sh -c \"$2\";; esac' host";
  LaunchedJob job(run_on_hosts("h1,h2", {"gather", "1", "1"}, {}, rsh));
  EXPECT_EQ(job.wait(), 125);
  EXPECT_EQ(job.error().find("musubi: host h2: program " + program + " is build id "), 0u) << job.error();
  EXPECT_EQ(std::ranges::count(job.error(), '\n'), 1) << job.error();
}

TEST(Namespaces, ALinkThatIsLostEndsTheJobOnBothSides) {
  if (const std::string missing = Sshd::missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Namespace other;
  if (!other.made()) GTEST_SKIP() << "the caller may not make network namespaces";
  Sshd sshd("10.213.7.2", free_port() + 3, "ip netns exec " + other.name());
  ASSERT_TRUE(sshd.ready()) << sshd.log();
  for (int round = 0; round < 5; ++round) {
    const std::string words = mark();
    LaunchedJob job(run_on_hosts("10.213.7.2:2", {"ready", words}, {"--set", "host_timeout=1s"}, sshd.rsh()));
    ASSERT_TRUE(eventually([&] { return job.output() == "ready\n"; })) << job.error();
    other.set_link("down");
    EXPECT_EQ(job.wait(), 125);
    EXPECT_EQ(job.error().find("musubi: host 10.213.7.2 (ranks 0 to 1) is lost: the launcher on "), 0u)
        << job.error();
    EXPECT_NE(job.error().find(" has had no sign of life for 1 s; that host hangs, or the network between"),
              std::string::npos)
        << job.error();
    EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
    EXPECT_TRUE(eventually([&] { return all_with("launch_rank_program ready " + words).empty(); }));
    other.set_link("up");
  }
}

}  // namespace
}  // namespace musubi::test
