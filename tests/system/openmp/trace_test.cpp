// `musubi run --trace`: the contents of the file, and that no other file remains, however the job ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../../unit/trace/parsed_trace.h"
#include "openmp_job.h"

namespace musubi::test {
namespace {

namespace fs = std::filesystem;

// A folder of the test's own.
class Trace : public testing::Test {
 protected:
  Trace() : folder_(fs::temp_directory_path() / ("musubi-trace-" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~Trace() override { fs::remove_all(folder_); }

  std::string file() const { return folder_ / "out.json"; }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }
  ParsedTrace trace() const {
    std::stringstream text;
    text << std::ifstream(file()).rdbuf();
    return parse_trace(text.str());
  }
  static LaunchedJob::Options with(LaunchedJob::Options options, const std::vector<std::string>& more) {
    options.arguments.insert(options.arguments.begin() + 1, more.begin(), more.end());
    return options;
  }
  LaunchedJob::Options traced(LaunchedJob::Options options) const {
    return with(std::move(options), {"--trace", file()});
  }

 private:
  fs::path folder_;
};

std::size_t faults(const ParsedTrace& trace, int rank) {
  return trace.count(rank, "read_fault") + trace.count(rank, "write_fault");
}

TEST_F(Trace, ShowsWhatTheThreadsOfAllRanksDid) {
  LaunchedJob job(traced(job_of({2, 2}, "churn", {"3"})));
  ASSERT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(entries(), std::vector<std::string>{"out.json"});
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  EXPECT_TRUE(unknown_names(trace).empty());
  EXPECT_EQ(overlaps(trace), 0u);
  EXPECT_EQ(trace.processes.size(), 2u);
  for (const int rank : {0, 1}) {
    EXPECT_GT(faults(trace, rank), 0u);
    EXPECT_GT(trace.count(rank, "barrier"), 0u);
    EXPECT_EQ(trace.count(rank, "barrier_release"), trace.count(rank, "barrier"));
    EXPECT_EQ(trace.count(rank, "barrier_acquire"), trace.count(rank, "barrier"));
    EXPECT_GT(trace.count(rank, "team_barrier"), 0u);
    EXPECT_GT(trace.count(rank, "lock_wait"), 0u);
    EXPECT_EQ(trace.count(rank, "unlock"), trace.count(rank, "lock_wait"));
    EXPECT_EQ(trace.count(rank, "parallel_region") % 2, 0u) << "two threads of each rank";
    std::multiset<std::string> names;
    for (const auto& [thread, name] : trace.threads) {
      if (thread.first == rank) names.insert(name);
    }
    EXPECT_EQ(names.count("main"), 1u);
    EXPECT_EQ(names.count("OpenMP thread 1"), 1u);
    EXPECT_EQ(names.count("background"), 1u);
    EXPECT_EQ(names.count("memory"), 1u);
  }
  EXPECT_EQ(trace.count(0, "barrier"), trace.count(1, "barrier"));
  EXPECT_EQ(job.error(), "");
}

// All ranks leave a barrier after the last has arrived: their clocks have one zero.
TEST_F(Trace, BarriersOfTheRanksMeet) {
  LaunchedJob job(traced(job_of({2}, "repeats", {"barrier", "100"})));
  ASSERT_EQ(job.wait(), 0) << job.error();
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  std::vector<ParsedSpan> barriers[2];
  for (const auto& [thread, spans] : trace.spans) {
    for (const ParsedSpan& span : spans) {
      if (span.name == "barrier") barriers[thread.first].push_back(span);
    }
  }
  ASSERT_EQ(barriers[0].size(), barriers[1].size());
  ASSERT_GT(barriers[0].size(), 100u);
  for (std::size_t i = 0; i < barriers[0].size(); ++i) {
    EXPECT_GT(barriers[0][i].begin_ns, 0);
    EXPECT_LE(barriers[0][i].begin_ns, barriers[1][i].end_ns);
    EXPECT_LE(barriers[1][i].begin_ns, barriers[0][i].end_ns);
  }
}

// Hosts whose clocks began at different times, if the system allows that.
std::vector<std::string> two_hosts() {
  const bool has_clocks = std::system("unshare --time --fork --monotonic 5000 true 2>/dev/null") == 0;
  const std::string clock =
      has_clocks ? "test $1 = h2 && exec unshare --time --fork --kill-child --monotonic 5000 sh -c \"$2\"; "
                 : "";
  return {"--hosts", "h1:2,h2:2", "--rsh", "sh -c '" + clock + "exec sh -c \"$2\"' host"};
}

TEST_F(Trace, OverHostsTheEventsOfAllAreOnTheLaunchersClock) {
  LaunchedJob job(traced(with(job_of({4}, "repeats", {"barrier", "100"}), two_hosts())));
  ASSERT_EQ(job.wait(), 0) << job.error();
  EXPECT_EQ(entries(), std::vector<std::string>{"out.json"});
  EXPECT_EQ(job.error(), "");
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  EXPECT_EQ(trace.processes.size(), 4u);
  constexpr std::int64_t error_ns = 200'000'000;  // error on a loaded machine; hosts are 5000 s apart
  std::vector<ParsedSpan> barriers[4];
  for (const auto& [thread, spans] : trace.spans) {
    for (const ParsedSpan& span : spans) {
      if (span.name == "barrier") barriers[thread.first].push_back(span);
    }
  }
  for (const std::vector<ParsedSpan>& of_rank : barriers) {
    ASSERT_EQ(of_rank.size(), barriers[0].size());
    ASSERT_GT(of_rank.size(), 100u);
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      EXPECT_GT(of_rank[i].begin_ns, 0);
      EXPECT_LE(of_rank[i].begin_ns, barriers[0][i].end_ns + error_ns);
      EXPECT_LE(barriers[0][i].begin_ns, of_rank[i].end_ns + error_ns);
    }
  }
}

TEST_F(Trace, AJobOverHostsThatDiesKeepsItsTrace) {
  LaunchedJob job(traced(with(job_of({4}, "crashes", {"abort", "last"}), two_hosts())));
  EXPECT_NE(job.wait(), 0);
  EXPECT_EQ(entries(), std::vector<std::string>{"out.json"});
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  for (const int rank : {0, 1, 2, 3}) EXPECT_GT(trace.count(rank, "barrier"), 0u) << rank;
}

TEST_F(Trace, OverHostsLostEventsAreToldToo) {
  const std::vector<std::string> few = {"--set", "trace_events=16"};
  LaunchedJob job(traced(with(with(job_of({4}, "repeats", {"barrier", "100"}), few), two_hosts())));
  ASSERT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.error(), "the trace lacks")) << job.error();
}

TEST_F(Trace, WithoutTheOptionNothingIsWritten) {
  LaunchedJob job(job_of({2}, "repeats", {"barrier", "10"}));
  ASSERT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(job.error(), "");
}

TEST_F(Trace, RanksGetMemoryForEventsWhereThereIsATrace) {
  const LaunchedJob::Options files{{"run", "-n", "1", "--plain", "ls", "-l", "/proc/self/fd"}};
  LaunchedJob untraced_job(files);
  ASSERT_EQ(untraced_job.wait(), 0) << untraced_job.error();
  EXPECT_FALSE(contains(untraced_job.output(), "musubi-events"));
  LaunchedJob traced_job(traced(files));
  ASSERT_EQ(traced_job.wait(), 0) << traced_job.error();
  EXPECT_TRUE(contains(traced_job.output(), "musubi-events")) << traced_job.output();
}

TEST_F(Trace, TheOldestEventsAreLostAndThatIsTold) {
  LaunchedJob job(traced(with(job_of({2}, "repeats", {"barrier", "100"}), {"--set", "trace_events=16"})));
  ASSERT_EQ(job.wait(), 0) << job.error();
  EXPECT_TRUE(contains(job.error(), "the trace lacks")) << job.error();
  EXPECT_TRUE(contains(job.error(), "set trace_events higher")) << job.error();
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  for (const auto& [thread, spans] : trace.spans) EXPECT_LE(spans.size(), 16u);
}

TEST_F(Trace, AJobThatDiesKeepsItsTraceAndLeavesNothingElse) {
  LaunchedJob job(traced(job_of({2}, "crashes", {"abort", "last"})));
  EXPECT_NE(job.wait(), 0);
  EXPECT_EQ(entries(), std::vector<std::string>{"out.json"});
  const ParsedTrace trace = this->trace();
  ASSERT_TRUE(trace.valid);
  EXPECT_GT(trace.count(0, "barrier"), 0u);
  EXPECT_GT(trace.count(1, "barrier"), 0u);
}

TEST_F(Trace, AFileThatCannotBeWrittenIsRefusedBeforeTheJob) {
  for (const std::string& path :
       {fs::path(file()).parent_path().string(), file() + "/out.json", file() + "s/out.json"}) {
    std::ofstream(file()) << "no folder";
    LaunchedJob job(with(job_of({2}, "churn", {"3"}), {"--trace", path}));
    EXPECT_EQ(job.wait(), 2);
    EXPECT_EQ(job.output(), "");
    EXPECT_TRUE(contains(job.error(), "cannot write the trace to " + path)) << job.error();
    EXPECT_TRUE(contains(job.error(), "name a file in a folder that exists")) << job.error();
  }
  EXPECT_EQ(entries(), std::vector<std::string>{"out.json"});
}

}  // namespace
}  // namespace musubi::test
