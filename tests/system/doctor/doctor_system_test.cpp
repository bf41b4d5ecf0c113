// `musubi doctor` on the machine that runs the tests, and so on a machine where jobs of other tests run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "../launch/launched_job.h"

namespace musubi::test {
namespace {

nlohmann::json examined(std::vector<std::string> arguments, int status) {
  arguments.insert(arguments.begin(), {"doctor", "--json"});
  LaunchedJob job(arguments);
  EXPECT_EQ(job.wait(), status) << job.error();
  return nlohmann::json::parse(job.output(), nullptr, false);
}

nlohmann::json finding(const nlohmann::json& report, const std::string& subject) {
  for (const auto& found : report["findings"]) {
    if (found["subject"] == subject) return found;
  }
  return nullptr;
}

TEST(Doctor, JobsCanRunHere) {
  const auto report = examined({}, 0);
  ASSERT_TRUE(report.is_object());
  EXPECT_TRUE(report["can_run"]);
  EXPECT_EQ(report["job"]["ranks"], 2);
  EXPECT_GE(report["facts"]["cores"], 1);
  EXPECT_GT(report["facts"]["memory_bytes"], 0);
  std::set<std::string> subjects;
  for (const auto& found : report["findings"]) {
    EXPECT_NE(found["severity"], "problem") << found.dump();
    EXPECT_EQ(found["severity"] == "ok", found["remedy"] == "") << found.dump();
    subjects.insert(found["subject"].get<std::string>());
  }
  for (const char* subject :
       {"kernel", "memory_files", "mappings", "overcommit", "address_space", "locked_memory", "open_files",
        "processes", "addresses", "userfaultfd", "cores", "processor_quota", "huge_pages", "huge_page_pools",
        "shared_folder", "libfabric", "mpi", "memory", "memory_limit"}) {
    EXPECT_EQ(subjects.count(subject), 1u) << subject;
  }
}

TEST(Doctor, AJobThatDoesNotFitIsAProblem) {
  const auto report = examined({"-n", "64", "--set", "heap_bytes=16GiB"}, 1);
  ASSERT_TRUE(report.is_object());
  EXPECT_FALSE(report["can_run"]);
  EXPECT_EQ(finding(report, "address_space")["severity"], "problem");
  // The named remedy helps.
  const auto smaller = examined({"-n", "64", "--set", "heap_bytes=1GiB", "--set", "stack_bytes=1MiB"}, 0);
  ASSERT_TRUE(smaller.is_object());
  EXPECT_EQ(finding(smaller, "address_space")["severity"], "ok");
}

TEST(Doctor, AsSetAJobOfManyRanksFits) {
  const auto report = examined({"-n", "100"}, 0);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(finding(report, "address_space")["severity"], "ok");
}

TEST(Doctor, TellsHowAProgramsAtomicsAreServed) {
  const auto usual = examined({PROGRAM_FOLDER "inline_atomics"}, 0);
  ASSERT_TRUE(usual.is_object());
  EXPECT_GE(usual["atomics"], 20);
  EXPECT_GE(usual["jumps"], 15);
  EXPECT_EQ(usual["breakpoints"], 0);
  EXPECT_EQ(usual["unsupported"], 0);
  const std::size_t served = usual["jumps"].get<std::size_t>() + usual["springboards"].get<std::size_t>() +
                             usual["puns"].get<std::size_t>();
  EXPECT_EQ(usual["atomics"].get<std::size_t>() + usual["fences"].get<std::size_t>(), served);
  // A machine state for which nothing else helps.
  EXPECT_EQ(examined({PROGRAM_FOLDER "own_signals"}, 0)["breakpoints"], 1);
  LaunchedJob no_program({"doctor", "/etc/passwd"});
  EXPECT_NE(no_program.wait(), 0);
  EXPECT_NE(no_program.error().find("musubi: "), std::string::npos);
}

TEST(Doctor, TheTextIsForPeople) {
  LaunchedJob job({"doctor", "-n", "1", "-t", "2"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_NE(job.output().find("A job of 1 rank with 2 threads can run here"), std::string::npos)
      << job.output();
}

TEST(Doctor, WrongSettingsAreRefused) {
  LaunchedJob job({"doctor", "--set", "no_such_setting=1"});
  EXPECT_EQ(job.wait(), 2);
  EXPECT_NE(job.error().find("no_such_setting"), std::string::npos);
}

}  // namespace
}  // namespace musubi::test
