// Exact costs of a barrier of threads of several ranks (pthread_barrier_wait).
#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

Task<> pass(Node& node, std::uint64_t name, std::uint32_t threads) {
  (void)co_await node.pass_barrier(name, threads);
}

struct Spent {
  std::uint64_t operations, messages;
};

// The third of three barriers, with `threads_of_rank` threads on each rank. `name` chooses the home.
Spent spent_by_barrier(std::uint32_t ranks, std::uint32_t threads_of_rank, std::uint64_t name) {
  Stage stage(calm(ranks), 1);
  Spent before{}, now{};
  for (int round = 0; round < 3; ++round) {
    before = now;
    for (std::uint32_t thread = 0; thread < ranks * threads_of_rank; ++thread) {
      const std::uint32_t rank = thread % ranks;
      stage.play(rank, pass(stage.node(rank), name, ranks * threads_of_rank));
    }
    stage.finish();
    now = {stage.total(Counter::remote_operations), stage.total(Counter::messages)};
  }
  return {now.operations - before.operations, now.messages - before.messages};
}

// Each rank but the home arrives by a call; the last one asks each other rank for its notices, and each asks
// the last one.
TEST(ThreadBarriersBudget, ThreeOperationsAndAMessagePerFurtherRank) {
  for (const std::uint32_t ranks : {2u, 3u, 5u}) {
    for (const std::uint64_t name : {0x10000u, 0x10040u, 0x10080u}) {
      const Spent spent = spent_by_barrier(ranks, 1, name);
      EXPECT_EQ(spent.operations, 3 * (ranks - 1)) << ranks << " ranks, name " << name;
      EXPECT_EQ(spent.messages, ranks - 1) << ranks << " ranks, name " << name;
    }
  }
}

TEST(ThreadBarriersBudget, ThreadsOfOneRankCostNoOperation) {
  EXPECT_EQ(spent_by_barrier(1, 4, 0x10000).operations, 0u);
}

}  // namespace
}  // namespace musubi::sim
