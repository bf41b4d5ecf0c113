// How a program ends under the job: its own crashes, handlers and exits, on any rank.
#include <gtest/gtest.h>
#include <signal.h>

#include "../launch/left_overs.h"
#include "openmp_job.h"
#include "os/fault_file.h"

namespace musubi::test {
namespace {

struct Crash {
  const char* how;
  int signal;
  const char* name;
  const char* said;  // text about the address or the cause
};

constexpr Crash crash_kinds[] = {
    {"null_dereference", SIGSEGV, "SIGSEGV", "write of address 0x0: a null pointer"},
    {"stack_overflow", SIGSEGV, "SIGSEGV", "overflowed"},
    {"division", SIGFPE, "SIGFPE", "integer division by zero"},
    {"abort", SIGABRT, "SIGABRT", "abort() was called"},
    {"illegal_instruction", SIGILL, "SIGILL", "illegal instruction"},
    {"wild_pointer", SIGSEGV, "SIGSEGV", "write of address 0x"},
    {"string_constant", SIGSEGV, "SIGSEGV", "write of address 0x"},
};

void PrintTo(const Crash& crash, std::ostream* stream) {
  *stream << crash.how;
}

class CrashTest : public testing::TestWithParam<Crash> {
 protected:
  // Crashes at `where` and expects the report to name `rank`.
  void expect_report(const Size& size, const char* where, int rank) {
    const Crash& crash = GetParam();
    LaunchedJob job(job_of(size, "crashes", {crash.how, where}));
    LeftOvers left;
    left.look_at(job);
    EXPECT_EQ(job.wait(), 128 + crash.signal);
    const std::string error = job.error(), who = "rank " + std::to_string(rank);
    EXPECT_TRUE(contains(error, who + ": the program was killed by " + crash.name)) << error;
    EXPECT_TRUE(contains(error, crash.said)) << error;
    EXPECT_TRUE(contains(error, std::string("crash_") + crash.how)) << error;
    EXPECT_TRUE(contains(error, "  #0 ")) << error;
    EXPECT_TRUE(contains(error, std::string(" in crash_") + crash.how)) << error;
    EXPECT_TRUE(contains(error, "(crashes.c:")) << error;
    EXPECT_FALSE(contains(error, "musubi::")) << "the runtime's own frames: " << error;
    EXPECT_TRUE(contains(error, "musubi: " + who + " (pid ")) << error;
    EXPECT_FALSE(contains(job.output(), "survived"));
    EXPECT_EQ(left.of(job), "");
  }
};

TEST_P(CrashTest, InSerialCode) {
  expect_report({3}, "serial", 0);
}
TEST_P(CrashTest, InARegionOnTheLastRank) {
  expect_report({3}, "last", 2);
}
TEST_P(CrashTest, InARegionOnASecondThread) {
  expect_report({2, 2}, "last", 1);
}
TEST_P(CrashTest, InAThreadOfTheProgram) {
  expect_report({2}, "pthread", 0);
}
TEST_P(CrashTest, AloneOnOneRank) {
  expect_report({1}, "serial", 0);
}
TEST_P(CrashTest, UnderEitherDriver) {
  expect_report({2, 2, "mprotect"}, "last", 1);
  if (const auto file = os::FaultFile::open(); !file) GTEST_SKIP() << file.error().message;
  expect_report({2, 1, "uffd"}, "serial", 0);
  expect_report({2, 2, "uffd"}, "last", 1);
}

INSTANTIATE_TEST_SUITE_P(Crashes, CrashTest, testing::ValuesIn(crash_kinds),
                         [](const auto& crash) { return crash.param.how; });

struct Ending {
  const char* how;
  int status;
  const char* output;
};

constexpr Ending endings[] = {
    {"handler", 0, "handled\nfarewell\n"},
    {"exit_serial", 3, "farewell\n"},
    {"exit_first", 3, "farewell\n"},
    {"return", 7, "farewell\n"},
    {"_exit", 5, ""},
    {"_exit_second", 9, ""},
    {"quick_exit", 6, ""},
    {"pthread_exit", 0, "late\nfarewell\n"},
};

constexpr Size sizes[] = {{1}, {3}, {2, 2}};

TEST(Endings, StatusAndLastWordsAreThePrograms) {
  for (const Ending& ending : endings) {
    for (const Size& size : sizes) {
      LaunchedJob job(job_of(size, "endings", {ending.how}));
      EXPECT_EQ(job.wait(), ending.status) << ending.how << size.ranks << job.error();
      EXPECT_EQ(job.output(), ending.output) << ending.how << size.ranks;
      EXPECT_EQ(job.error(), "") << ending.how << size.ranks;
      EXPECT_TRUE(job.vanished());
    }
  }
}

TEST(Endings, OfTheProgramUnderUserfaultfd) {
  if (const auto file = os::FaultFile::open(); !file) GTEST_SKIP() << file.error().message;
  for (const Ending& ending : endings) {
    LaunchedJob job(job_of({2, 2, "uffd"}, "endings", {ending.how}));
    EXPECT_EQ(job.wait(), ending.status) << ending.how << job.error();
    EXPECT_EQ(job.output(), ending.output) << ending.how;
    EXPECT_EQ(job.error(), "") << ending.how;
    EXPECT_TRUE(job.vanished());
  }
}

TEST(Endings, ExitOnAnotherRankEndsTheJob) {
  for (const int status : {0, 3}) {
    LaunchedJob job(job_of({3}, "endings", {status == 0 ? "exit_second_0" : "exit_second"}));
    EXPECT_EQ(job.wait(), status) << job.error();
    EXPECT_EQ(job.error(), "");
    EXPECT_TRUE(job.vanished());
  }
}

// No rank waits for ranks that have ended: the launcher need not end them by force.
TEST(Endings, OthersLeaveByThemselves) {
  for (const char* how : {"exit_first", "exit_second", "_exit", "quick_exit"}) {
    LaunchedJob::Options options = job_of({3}, "endings", {how});
    options.environment.push_back("MUSUBI_ABORT_TIMEOUT=10min");
    LaunchedJob job(options);
    EXPECT_GE(job.wait(), 3) << how;
    EXPECT_TRUE(job.vanished()) << how;
  }
}

TEST(Endings, TerminationByItself) {
  LaunchedJob job(job_of({3}, "endings", {"raise_terminate"}));
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_TRUE(contains(job.error(), "signal 15")) << job.error();
  EXPECT_TRUE(job.vanished());
}

TEST(Endings, TheRuntimesOwnFramesAreShownOnRequest) {
  for (const bool shown : {false, true}) {
    LaunchedJob::Options options = job_of({2}, "crashes", {"abort", "last"});
    if (shown) options.environment.push_back("MUSUBI_RUNTIME_FRAMES=true");
    LaunchedJob job(options);
    EXPECT_EQ(job.wait(), 128 + SIGABRT);
    EXPECT_EQ(contains(job.error(), " in musubi::omp::"), shown) << job.error();
  }
}

TEST(Endings, UncaughtException) {
  for (const char* how : {"uncaught", "uncaught_last"}) {
    LaunchedJob job(job_of({3}, "exceptions", {how}));
    EXPECT_EQ(job.wait(), 128 + SIGABRT);
    EXPECT_TRUE(contains(job.error(), "what():  nobody catches this")) << job.error();
    EXPECT_TRUE(contains(job.error(), "SIGABRT")) << job.error();
    EXPECT_TRUE(contains(job.error(), " in deeds::throw_out(std::")) << job.error();
    EXPECT_TRUE(contains(job.error(), "(exceptions.cpp:24)")) << job.error();
    EXPECT_TRUE(job.vanished());
  }
}

}  // namespace
}  // namespace musubi::test
