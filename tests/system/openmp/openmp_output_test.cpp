// Output of threads of all ranks, and their input.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "openmp_job.h"

namespace musubi::test {
namespace {

constexpr Size sizes[] = {{1}, {3}, {2, 2}};

// Every line is a whole line of one thread, in that thread's order; result: the lines of each thread.
std::map<int, int> lines_by_thread(const std::string& text, std::string& rest) {
  std::map<int, int> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    int thread = 0, number = 0, length = 0;
    if (std::sscanf(line.c_str(), "<thread %d line %d %n", &thread, &number, &length) != 2) {
      rest += line;
      continue;
    }
    EXPECT_EQ(number, lines[thread]++);
    const std::size_t digits = std::max(1, number % 300);
    EXPECT_EQ(line.substr(static_cast<std::size_t>(length)), std::string(digits, '0') + ">");
  }
  return lines;
}

TEST(Output, LinesOfThreadsStayWholeAndNoneIsLost) {
  for (const Size& size : sizes) {
    LaunchedJob job(job_of(size, "lines", {"300"}));
    ASSERT_EQ(job.wait(), 0) << job.error();
    std::string last_words;
    const std::map<int, int> lines = lines_by_thread(job.output(), last_words);
    const int threads = size.ranks * size.threads;
    EXPECT_EQ(lines.size(), static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      EXPECT_EQ(lines.at(thread), 300);
      EXPECT_TRUE(contains(last_words, "[last words of " + std::to_string(thread) + "]"));
    }
    EXPECT_EQ(last_words.size(), std::string("[last words of 0]").size() * threads) << last_words;
  }
}

// At the beginning of a region, unless the thread has printed it before.
TEST(Output, AffinityOfEachThreadOnce) {
  for (const Size& size : sizes) {
    LaunchedJob::Options options = job_of(size, "lines", {"1"});
    options.environment.push_back("OMP_DISPLAY_AFFINITY=true");
    options.environment.push_back("OMP_AFFINITY_FORMAT=thread %0.3n of %{num_threads}");
    LaunchedJob job(options);
    ASSERT_EQ(job.wait(), 0) << job.error();
    const int threads = size.ranks * size.threads;
    std::string expected;
    for (int thread = 0; thread < threads; ++thread) {
      const std::string line = "thread 00" + std::to_string(thread) + " of " + std::to_string(threads) + "\n";
      EXPECT_TRUE(contains(job.error(), line)) << job.error();
      expected += line;
    }
    EXPECT_EQ(job.error().size(), expected.size()) << job.error();
  }
}

TEST(Output, OfAllRanksBeforeExitInARegion) {
  for (const char* leaver : {"0", "1"}) {
    for (const Size& size : sizes) {
      LaunchedJob job(job_of(size, "lines", {"exit", leaver}));
      EXPECT_EQ(job.wait(), 4) << job.error();
      for (int thread = 0; thread < size.ranks * size.threads; ++thread) {
        EXPECT_TRUE(contains(job.output(), "before the exit: " + std::to_string(thread) + "\n"))
            << job.output() << leaver << size.ranks;
      }
    }
  }
}

TEST(Output, InputIsReadInMain) {
  for (const Size& size : sizes) {
    LaunchedJob job(job_of(size, "lines", {"echo"}));
    job.type("abc\n" + std::string(70000, 'x') + "\nno newline at the end");
    EXPECT_EQ(job.wait(), 0) << job.error();
    EXPECT_EQ(job.output(), "3\n70000\n21\n3 lines\n");
  }
}

}  // namespace
}  // namespace musubi::test
