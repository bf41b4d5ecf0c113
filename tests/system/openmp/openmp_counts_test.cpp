// Costs of constructs in operations between ranks, by `--stats`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "openmp_job.h"

namespace musubi::test {
namespace {

constexpr int few = 200, many = 1200;
// The number of operations at the beginning of a job varies from run to run, whatever follows it.
constexpr long at_beginning_max = 100;

struct Counts {
  long barriers = 0;
  long messages = 0;  // except those that wake a rank that had stopped polling
  long remote_operations = 0;
  long comparisons = 0;
};

// Sum over all ranks: the last number of the row, 0 without one.
long sum_of(const std::string& statistics, const std::string& counter) {
  std::istringstream lines(statistics);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != counter) continue;
    long number = 0, last = 0;
    while (words >> number) last = number;
    return last;
  }
  return 0;
}

Counts run(int ranks, const std::string& construct, int times, const std::string& delay = "0us") {
  LaunchedJob::Options options = job_of({ranks}, "repeats", {construct, std::to_string(times)});
  // Polls by the background depend on time.
  options.arguments.insert(options.arguments.begin() + 1,
                           {"--stats", "--set", "background_sync=0", "--set", "fabric_delay=" + delay});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  const std::string text = job.error();
  return {sum_of(text, "barriers"), sum_of(text, "messages") - sum_of(text, "asked_messages"),
          sum_of(text, "remote_operations"), sum_of(text, "comparisons")};
}

// The cost of one more, all ranks together.
Counts cost_of(int ranks, const std::string& construct) {
  const Counts a = run(ranks, construct, few);
  const Counts b = run(ranks, construct, many);
  const auto each = [](long first, long second) {
    constexpr long times = many - few;
    const long cost = (second - first + times / 2) / times;
    EXPECT_LE(std::labs(second - first - cost * times), at_beginning_max);
    return cost;
  };
  // Depends on which rank arrives first, and the cost of the beginning varies: compares averages.
  const auto on_average = [](long first, long second) {
    return (second - first + (many - few) / 2) / (many - few);
  };
  return {each(a.barriers, b.barriers), each(a.messages, b.messages),
          on_average(a.remote_operations, b.remote_operations), on_average(a.comparisons, b.comparisons)};
}

struct Case {
  int ranks;
  long rounds;
};
constexpr Case cases[] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}};

// `others`: remote operations of each rank but the first; `runner`: of the thread that runs a block.
void expect_one_message_of_each_rank_in_each_round(const std::string& construct, long others, long runner) {
  for (const Case& c : cases) {
    const Counts cost = cost_of(c.ranks, construct);
    EXPECT_EQ(cost.barriers, c.ranks);
    EXPECT_EQ(cost.messages, c.ranks * c.rounds);
    EXPECT_LE(cost.remote_operations, (c.ranks - 1) * others + runner);
  }
}

TEST(Counts, ABarrierTakesOneMessageOfEachRankInEachRound) {
  expect_one_message_of_each_rank_in_each_round("barrier", 0, 0);
}

// The runtime's counters are in the frames of its callers, on stacks that are shared memory: a barrier that
// changes them would have to release that memory.
TEST(Counts, ABarrierFindsNothingToRelease) {
  for (const Case& c : cases) EXPECT_EQ(cost_of(c.ranks, "barrier").comparisons, 0);
}

// In addition, each rank asks rank 0 once, and the thread that runs the block announces its end.
TEST(Counts, ASingleTakesNoMoreMessagesThanItsBarrier) {
  expect_one_message_of_each_rank_in_each_round("single", 1, 2);
}

// 512 chunks; the word that hands them out is at each rank in turn. With near words each chunk is an
// operation.
TEST(Counts, AFarDynamicLoopTakesFewTripsForItsChunks) {
  constexpr int loops = 60;
  const long near = run(2, "dynamic", loops).remote_operations;
  const long far = run(2, "dynamic", loops, "20us").remote_operations;
  EXPECT_GT(near, loops * 100);
  EXPECT_LT(far, loops * 80 + at_beginning_max);
}

long signals_of(const std::vector<std::string>& arguments) {
  LaunchedJob::Options options = job_of({2}, "announced_ranges", arguments);
  options.arguments.insert(options.arguments.begin() + 1, {"--stats", "--set", "background_sync=0"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  return sum_of(job.error(), "fault_signals");
}

// The entries took the ranks other than the first for children made by fork.
TEST(Counts, AnnouncedRangesSaveTheFaultsOfAllRanks) {
  constexpr long parts_of_each = 8;
  const long without = signals_of({});
  EXPECT_GT(without, 2 * 4 * parts_of_each);
  EXPECT_LT(signals_of({"announced"}), without / 3);
}

long lone_atomics_of(std::vector<std::string> arguments) {
  LaunchedJob::Options options = job_of({2}, "serial_synchronisation", std::move(arguments));
  options.arguments.insert(options.arguments.begin() + 1, "--stats");
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  return sum_of(job.error(), "lone_atomics");
}

// A handler may have begun in a region, and run on.
TEST(Counts, RankZeroIsAloneAfterRegionsOnlyWithoutHandlers) {
  const long with_handler = lone_atomics_of({"handler"});
  EXPECT_GT(with_handler, 0) << "before the first region";
  EXPECT_GT(lone_atomics_of({}), 5 * with_handler);
}

TEST(Counts, ASingleWithoutABarrierTakesNoMessage) {
  for (const Case& c : cases) {
    const Counts cost = cost_of(c.ranks, "single_nowait");
    EXPECT_EQ(cost.barriers, 0);
    EXPECT_EQ(cost.messages, 0);
    // Each rank asks rank 0 once, and the thread that runs the block announces its end.
    EXPECT_LE(cost.remote_operations, c.ranks - 1 + 2);
  }
}

// A post takes 2 operations on the semaphore's word, and a wait that sleeps 4 or more. Threads that look at
// their words in between, as those that wait briefly do, would hold up the one with the token.
TEST(Counts, ThreadsThatWaitForLongLookSeldom) {
  constexpr long threads = 8, rounds = 200;
  LaunchedJob::Options options =
      job_of({2}, "threads_ring", {std::to_string(threads), std::to_string(rounds)});
  options.arguments.insert(options.arguments.begin() + 1,
                           {"--pthreads", "--stats", "--set", "fabric_delay=50us"});
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  EXPECT_LE(sum_of(job.error(), "atomics"), 10 * threads * rounds);
}

}  // namespace
}  // namespace musubi::test
