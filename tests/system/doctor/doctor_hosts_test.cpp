// `musubi doctor --hosts`, with hosts that are shells on this machine, and the use of its file by runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "../launch/host_wrappers.h"

namespace musubi::test {
namespace {

using Json = nlohmann::json;

// h3 does not exist.
const std::string two_of_three =
    "sh -c 'test $1 = h3 && { echo no route >&2; exit 255; }; exec sh -c \"$2\"' host";

// A path of the test's own; the file there is removed at its end.
struct TemporaryFile {
  TemporaryFile() { ::close(::mkstemp(path.data())); }
  explicit TemporaryFile(const std::string& contents) : TemporaryFile() { std::ofstream(path) << contents; }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  std::string contents() const {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string path = testing::TempDir() + "doctor-hosts-XXXXXX";
};

Json doctor_as_json(std::vector<std::string> arguments, int status) {
  arguments.insert(arguments.begin(), {"doctor", "--json", "--hosts"});
  LaunchedJob job(arguments);
  EXPECT_EQ(job.wait(), status) << job.error();
  EXPECT_TRUE(job.vanished());
  return Json::parse(job.output(), nullptr, false);
}

void expect_measured(const Json& pair) {
  EXPECT_GT(pair["asleep_ns"], 0) << pair;
  EXPECT_GT(pair["awake_ns"], 0) << pair;
  EXPECT_GT(pair["bits_per_second"], 0) << pair;
}

TEST(DoctorOfHosts, TheTableShowsHostsAndPairs) {
  LaunchedJob job({"doctor", "--hosts", "h1:2,h2", "--rsh", shell_host});
  EXPECT_EQ(job.wait(), 0) << job.output() << job.error();
  EXPECT_EQ(job.error(), "");
  for (const char* part : {"host  ranks  answer", "\nh1    2 ", "\nh2    1 ", "userfaultfd",
                           "Network, by far_fabric=tcp", "\nh1  h2    ", "\nh2  h1    ", " us  ", " Gbps"}) {
    EXPECT_NE(job.output().find(part), std::string::npos) << part << " is not in\n" << job.output();
  }
}

TEST(DoctorOfHosts, AHostThatIsNotThereLeavesTheOthersMeasured) {
  const Json report = doctor_as_json({"h1,h2,h3", "--rsh", two_of_three}, 1);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["can_run"], false);
  ASSERT_EQ(report["hosts"].size(), 3u);
  EXPECT_EQ(report["hosts"][0]["reachable"], true);
  EXPECT_EQ(report["hosts"][2]["reachable"], false);
  EXPECT_NE(report["hosts"][2]["refusal"].get<std::string>().find("cannot be reached"), std::string::npos);
  EXPECT_EQ(report["hosts"][0]["facts"]["job"], "can run");
  ASSERT_EQ(report["network"]["pairs"].size(), 2u);
  for (const Json& pair : report["network"]["pairs"]) expect_measured(pair);
}

TEST(DoctorOfHosts, OneHostHasNoNetwork) {
  const Json report = doctor_as_json({"h1:4", "--rsh", shell_host}, 0);
  ASSERT_TRUE(report.is_object());
  EXPECT_FALSE(report.contains("network"));
  EXPECT_TRUE(report.contains("not_measured"));
}

TEST(DoctorOfHosts, EveryPairOfFourIsMeasuredInBothDirections) {
  const Json report = doctor_as_json({"a,b,c,d", "--rsh", shell_host}, 0);
  ASSERT_TRUE(report.is_object());
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Json& pair : report["network"]["pairs"]) {
    expect_measured(pair);
    pairs.emplace(pair["by"], pair["from"]);
  }
  EXPECT_EQ(pairs.size(), 12u);
}

TEST(DoctorOfHosts, AProgramThatIsNotThereIsAProblem) {
  const Json report = doctor_as_json({"h1,h2", "--rsh", shell_host, PROGRAM_FOLDER "inline_atomics"}, 0);
  ASSERT_TRUE(report.is_object());
  EXPECT_TRUE(report["hosts"][1]["facts"].contains("program " PROGRAM_FOLDER "inline_atomics"));
  LaunchedJob job({"doctor", "--hosts", "h1,h2", "--rsh", shell_host, "/no/such/program"});
  EXPECT_EQ(job.wait(), 127);
}

// A mount namespace gives the second host another file at the program's path.
TEST(DoctorOfHosts, ADifferentProgramIsNamed) {
  if (std::system("unshare --mount true 2>/dev/null") != 0) GTEST_SKIP() << "no namespaces of mounts here";
  const std::string rsh =
      "sh -c 'test $1 = h1 && exec sh -c \"$2\"; exec unshare --mount sh -c \"mount --bind " +
      std::string(PROGRAM_FOLDER "own_signals " PROGRAM_FOLDER "inline_atomics") +
      " && exec sh -c \\\"\\$0\\\"\" \"$2\"' host";
  const Json report = doctor_as_json({"h1,h2", "--rsh", rsh, PROGRAM_FOLDER "inline_atomics"}, 1);
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report["problems"].size(), 1u) << report;
  const std::string problem = report["problems"][0];
  EXPECT_NE(problem.find("host h2: program " PROGRAM_FOLDER "inline_atomics"), std::string::npos) << problem;
  EXPECT_NE(problem.find("copy the same file"), std::string::npos) << problem;
  EXPECT_EQ(report["network"]["pairs"].size(), 2u);
}

TEST(DoctorOfHosts, ARunTakesWhatItSaved) {
  const TemporaryFile file;
  LaunchedJob doctor({"doctor", "--hosts", "h1,h2", "--rsh", shell_host, "--save", file.path});
  EXPECT_EQ(doctor.wait(), 0) << doctor.error();
  const Json saved = Json::parse(file.contents(), nullptr, false);
  ASSERT_TRUE(saved.is_object());
  const auto latency = std::max(saved["network"]["pairs"][0]["asleep_ns"].get<std::uint64_t>(),
                                saved["network"]["pairs"][1]["asleep_ns"].get<std::uint64_t>());
  LaunchedJob run({"run", "--hosts", "h1,h2", "--network", file.path, "--print-config"});
  EXPECT_EQ(run.wait(), 0) << run.error();
  std::stringstream lines(run.output());
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("network_latency") != std::string::npos) shown = line;
  }
  EXPECT_NE(shown.find(std::to_string(latency) + "ns"), std::string::npos) << shown;
  LaunchedJob set(
      {"run", "--hosts", "h1,h2", "--network", file.path, "--set", "network_latency=7us", "--print-config"});
  EXPECT_EQ(set.wait(), 0);
  EXPECT_NE(set.output().find("7us"), std::string::npos) << "--set comes last";
}

TEST(DoctorOfHosts, AFileThatIsNoneIsRefused) {
  const std::string pair = R"({"by":"a","from":"b","asleep_ns":1,"awake_ns":1,"bits_per_second":1})";
  const std::string pairs = R"({"network":{"fabric":"tcp","pairs":[)" + pair + "]}}";
  for (const std::string& contents :
       {std::string(), std::string("{\"network\": {"), std::string("{}"), pairs}) {
    const TemporaryFile file(contents);
    LaunchedJob job({"run", "--hosts", "h1,h2", "--network", file.path, "--print-config"});
    EXPECT_EQ(job.wait(), 2) << contents;
    EXPECT_EQ(lines_of(job.error()), 1u) << job.error();
    EXPECT_NE(job.error().find("--network: cannot use " + file.path), std::string::npos) << job.error();
    EXPECT_NE(job.error().find("musubi doctor --hosts"), std::string::npos) << job.error();
  }
  LaunchedJob no_file({"run", "--hosts", "h1,h2", "--network", "/no/such/file", "--print-config"});
  EXPECT_EQ(no_file.wait(), 2);
  EXPECT_NE(no_file.error().find("No such file"), std::string::npos) << no_file.error();
}

TEST(DoctorOfHosts, AFileThatCannotBeWrittenIsSaid) {
  LaunchedJob job({"doctor", "--hosts", "h1", "--rsh", shell_host, "--save", "/no/such/folder/file"});
  EXPECT_EQ(job.wait(), 1);
  EXPECT_NE(job.error().find("cannot write /no/such/folder/file"), std::string::npos) << job.error();
}

std::string statistics_of(std::vector<std::string> arguments, const char* program = "reductions") {
  arguments.insert(arguments.begin(), {"run", "--stats"});
  arguments.push_back(std::string(PROGRAM_FOLDER) + program);
  LaunchedJob job(arguments);
  EXPECT_EQ(job.wait(), 0) << job.error();
  return job.error();
}

// The sum of a row, 0 without such a row.
std::uint64_t sum_of(const std::string& statistics, const std::string& counter) {
  std::stringstream lines(statistics);
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    std::string name, last;
    words >> name;
    if (name != counter) continue;
    while (words >> last) {
    }
    return std::stoull(last);
  }
  return 0;
}

TEST(Statistics, WhatCrossesTheNetworkHasRowsOfItsOwn) {
  const std::string statistics = statistics_of({"--hosts", "h1:2,h2:2", "--rsh", shell_host});
  for (const auto& [all, far] :
       {std::pair{"remote_operations", "far_operations"}, std::pair{"remote_bytes", "far_bytes"},
        std::pair{"messages", "far_messages"}}) {
    EXPECT_GT(sum_of(statistics, far), 0u) << statistics;
    // Ranks of one host communicate, too.
    EXPECT_GT(sum_of(statistics, all), sum_of(statistics, far)) << statistics;
  }
  EXPECT_GT(sum_of(statistics, "far_trip_ns"), sum_of(statistics, "far_operations")) << statistics;
}

// A program in which each rank reads a stream of the other rank's.
std::uint64_t faults_of_stream(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-n", "2", "--set", "network_bandwidth=25Gbps"});
  return sum_of(statistics_of(std::move(arguments), "neighbour_reads"), "read_faults");
}

TEST(Statistics, ALongerLineGetsLongerRuns) {
  const std::vector<std::string> hosts = {"--hosts", "h1,h2", "--rsh", shell_host};
  const auto faults_at = [&](const std::string& latency) {
    std::vector<std::string> arguments = hosts;
    arguments.insert(arguments.end(), {"--set", "network_latency=" + latency});
    return faults_of_stream(std::move(arguments));
  };
  EXPECT_LT(faults_at("100us") * 10, faults_at("1us") * 8);
  const auto faults_near = [](const std::string& latency) {
    return faults_of_stream({"--set", "network_latency=" + latency});
  };
  EXPECT_NEAR(static_cast<double>(faults_near("100us")), static_cast<double>(faults_near("1us")), 16);
}

TEST(Statistics, AJobOnOneHostHasNone) {
  const std::string statistics = statistics_of({"-n", "4"});
  EXPECT_GT(sum_of(statistics, "remote_operations"), 0u);
  EXPECT_EQ(statistics.find("far_"), std::string::npos) << statistics;
}

}  // namespace
}  // namespace musubi::test
