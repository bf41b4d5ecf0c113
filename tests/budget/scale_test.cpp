// How the cost of a node grows with the number of nodes, counted: for `migrating`, and up to the number where
// the policies for comparison stop scaling. Every value that the workloads read is checked.
#include "simulator/scale.h"

#include <gtest/gtest.h>

#include <bit>

#ifndef MUSUBI_SCALE_NODES_MAX
#define MUSUBI_SCALE_NODES_MAX 1024
#endif

namespace musubi::sim {
namespace {

constexpr std::uint32_t nodes_max = MUSUBI_SCALE_NODES_MAX;
constexpr std::uint32_t iterations = 2;

ScaleResult cost(Policy policy, WorkloadKind workload, std::uint32_t nodes, std::uint64_t seed = 1,
                 const fabric::sim::LatencyModel& model = fabric::sim::LatencyModel::infiniband()) {
  const ScaleResult result = measure({policy, workload, model, nodes, iterations, std::nullopt, seed});
  EXPECT_EQ(result.violation, "") << name_of(policy) << ' ' << name_of(workload) << ' ' << nodes;
  return result;
}

double rounds(std::uint32_t nodes) {
  return std::bit_width(nodes - 1);
}

TEST(Scale, RemoteOperationsOfABarrierGrowNoFasterThanTheLogarithm) {
  for (std::uint32_t nodes = 2; nodes <= nodes_max; nodes *= 2) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::stencil, nodes);
    EXPECT_EQ(r.messages, rounds(nodes)) << nodes;  // one per round, and no more
    // The neighbours' rows, by a notice or because the copy has expired; sometimes one of them is missed.
    // Rows that have not changed cost nothing.
    EXPECT_LE(r.remote_operations, 3) << nodes;
    EXPECT_EQ(r.renewals, 0) << nodes;
    EXPECT_LE(r.busiest_operations, 3 + rounds(nodes)) << nodes;
  }
}

// More notices, but no more than fit one message of the barrier: more would need an operation each time.
TEST(Scale, TheNoticesOfASlowNetworkTravelInTheMessages) {
  for (const std::uint32_t nodes : {64u, 128u, 256u}) {
    const ScaleResult r =
        cost(Policy::migrating, WorkloadKind::stencil, nodes, 1, fabric::sim::LatencyModel::tcp_25_gbe());
    EXPECT_EQ(r.messages, rounds(nodes)) << nodes;
    EXPECT_LE(r.remote_operations, 3) << nodes;
  }
}

TEST(Scale, CopiesLapseOnlyIfTheyHaveChanged) {
  for (const std::uint32_t nodes : {16u, 64u, 256u}) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::all_to_all, nodes);
    EXPECT_EQ(r.renewals, 0) << nodes;
    EXPECT_LE(r.remote_operations, 32) << nodes;  // the changed blocks are at most those that a node reads
  }
}

// Each barrier concerns one of two grids. If renewed leases were so long that they moved the versions of the
// next turn past those of the other grid, each barrier would need requests for copies of both.
TEST(Scale, CopiesOfBlocksThatAreWrittenByTurnsDoNotLapse) {
  EXPECT_EQ(cost(Policy::migrating, WorkloadKind::stencil, 512, 1, fabric::sim::LatencyModel::tcp_25_gbe())
                .renewals,
            0);
}

// One of four vectors changes between two barriers. The notices of its blocks fit, so copies of the other
// vectors stay valid.
TEST(Scale, CopiesOfWhatDoesNotChangeStayWhereNoticesFit) {
  EXPECT_EQ(cost(Policy::migrating, WorkloadKind::small_regions, 64).renewals, 0);
  // 96 blocks, on a slow network.
  const ScaleResult slow =
      cost(Policy::migrating, WorkloadKind::small_regions, 256, 1, fabric::sim::LatencyModel::tcp_25_gbe());
  EXPECT_EQ(slow.renewals, 0);
  EXPECT_LE(slow.remote_operations, 2 * 8);  // a merge and a fetch in each of eight regions
}

TEST(Scale, NoticesThatANodeReadsAreBoundedInMigratingAlone) {
  constexpr std::uint32_t few_nodes = 8;
  constexpr std::uint32_t nodes = 64;
  // Each node changes four blocks, of which two have a reader: only those are named, and no more than fit.
  EXPECT_EQ(cost(Policy::migrating, WorkloadKind::stencil, few_nodes).notices, few_nodes * 2.0);
  EXPECT_LE(cost(Policy::migrating, WorkloadKind::stencil, nodes).notices,
            static_cast<double>(coherence::signature_notices_for(
                nodes, 2 * fabric::sim::LatencyModel::infiniband().latency_ns)));
  EXPECT_EQ(cost(Policy::notices, WorkloadKind::stencil, nodes).notices, nodes * 4.0);
}

TEST(Scale, OnlyTheDirectorySendsInvalidations) {
  constexpr std::uint32_t nodes = 128;
  constexpr double barriers = 2;
  constexpr double written = 4;
  for (const Policy policy : {Policy::migrating, Policy::notices, Policy::timestamps}) {
    const ScaleResult r = cost(policy, WorkloadKind::read_mostly, nodes);
    EXPECT_EQ(r.messages, barriers * rounds(nodes)) << name_of(policy);
    EXPECT_EQ(r.invalidation_messages, 0) << name_of(policy);
  }
  const ScaleResult r = cost(Policy::directory, WorkloadKind::read_mostly, nodes);
  // The writer notifies every reader of every block, and each of them answers; an answer may arrive before
  // its reader has begun to count.
  EXPECT_LE(r.invalidation_messages, written * 2 * (nodes - 1) / nodes);
  EXPECT_GE(r.invalidation_messages, written * (nodes - 1) / nodes);
  EXPECT_EQ(r.messages, barriers * rounds(nodes) + r.invalidation_messages);
  EXPECT_EQ(r.busiest_operations, barriers * rounds(nodes) + written * (nodes - 1));
}

TEST(Scale, TimestampsAloneRenewWhatNobodyChanged) {
  // Half of the neighbours' rows that a node keeps change in an iteration; all are fetched or renewed.
  constexpr std::uint32_t nodes = 16;  // with a notice for each row that changes
  const ScaleResult alone = cost(Policy::timestamps, WorkloadKind::stencil, nodes);
  const ScaleResult migrating = cost(Policy::migrating, WorkloadKind::stencil, nodes);
  EXPECT_GE(alone.fetches + alone.renewals, migrating.fetches + migrating.renewals + 1);
  EXPECT_EQ(alone.notices, 0);
}

TEST(Scale, ReadersOfABlockServeEachOther) {
  // From here on a reader that serves other readers has all its places taken.
  constexpr std::uint32_t few_nodes = 256;
  constexpr double written = 4;
  const ScaleResult few = cost(Policy::migrating, WorkloadKind::read_mostly, few_nodes);
  for (const std::uint32_t nodes : {few_nodes, nodes_max}) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::read_mostly, nodes);
    EXPECT_LE(r.fetches, written) << nodes;
    EXPECT_LE(r.remote_operations, written * 6) << nodes;  // a reader asks until the copy has arrived
    EXPECT_LE(r.busiest_served, 2 * few.busiest_served) << nodes;
    EXPECT_LE(r.virtual_ns, 2 * few.virtual_ns) << nodes;
  }
}

TEST(Scale, AWriterWithManyReadersFindsThemOneAfterTheOtherWhereTheyDoNot) {
  // The network is the same for all: the transfers of a home to all nodes share the home's link.
  const auto model = fabric::sim::LatencyModel::tcp_25_gbe();
  const ScaleResult few = cost(Policy::timestamps, WorkloadKind::read_mostly, 16, 1, model);
  const ScaleResult many = cost(Policy::timestamps, WorkloadKind::read_mostly, 256, 1, model);
  const double block_ns = Workload::block_bytes * static_cast<double>(model.link_ns_per_256_bytes) / 256;
  EXPECT_GE(many.virtual_ns - few.virtual_ns, (256 - 16) * block_ns);
}

TEST(Scale, BlocksOfSeveralWritersCostNoMoreInLargerJobsButForTheBarriers) {
  constexpr double barriers = 2;
  // From here on a node's partners are all different, and dropped notices make copies expire.
  constexpr std::uint32_t full = 256;
  double at_full = 0;
  for (std::uint32_t nodes = 4; nodes <= nodes_max; nodes *= 4) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::gather_scatter, nodes);
    // Eight blocks of cells are read elsewhere and six boundary blocks have several writers: each of these is
    // fetched when it is read, and again when this node takes its lock after another node, which may have to
    // send word that it is free.
    constexpr double read = 8, shared = 6;
    EXPECT_LE(r.messages, barriers * rounds(nodes) + shared / 2) << nodes;
    EXPECT_LE(r.remote_operations, 2 * read + 4 * shared + 1) << nodes;
    const double all = r.remote_operations + r.messages;
    if (nodes == full) at_full = all;
    if (nodes > full) {
      EXPECT_LE(all, at_full + barriers * (rounds(nodes) - rounds(full)) + 1) << nodes;
    }
  }
}

TEST(Scale, ATaskCostsItsNodeNoMoreInLargerJobsButForTheDirectory) {
  constexpr double tasks = 4;  // the mean number of tasks of a node
  constexpr double takes = tasks + 1;
  for (std::uint32_t nodes = 4; nodes <= nodes_max; nodes *= 4) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::task_queue, nodes);
    // The lock goes from node to node with one message. The counter follows in a few operations; the node's
    // part of a block of results, which sixty-four tasks share, is sent before it.
    EXPECT_LE(r.messages, rounds(nodes) + takes) << nodes;
    EXPECT_LE(r.remote_operations, 12 * takes) << nodes;
  }
  constexpr std::uint32_t nodes = 64;
  // Each node that has read the counter once is notified of every change of it, and answers.
  const ScaleResult r = cost(Policy::directory, WorkloadKind::task_queue, nodes);
  EXPECT_GE(r.invalidation_messages, tasks * 2 * (nodes - 1) * 0.9);
}

TEST(Scale, TasksOfOneQueueAreTakenOneAfterTheOther) {
  // So an iteration takes longer in a larger job, in proportion to the number of tasks.
  constexpr double takes = 5;
  const auto model = fabric::sim::LatencyModel::infiniband();
  double at_64 = 0;
  for (std::uint32_t nodes = 64; nodes <= nodes_max; nodes *= 4) {
    const double ns = cost(Policy::migrating, WorkloadKind::task_queue, nodes).virtual_ns / takes / nodes;
    if (nodes == 64) at_64 = ns;
    // The grant, and a check of the changes by the previous node.
    EXPECT_GE(ns, 3 * static_cast<double>(model.latency_ns)) << nodes;
    EXPECT_LE(ns, 1.6 * at_64) << nodes;
  }
}

TEST(Scale, ASmallRegionCostsNoMoreInLargerJobsButForTheBarrier) {
  constexpr double regions = 8;
  // A piece covers 1.25 blocks on average, which two or three other nodes write. As long as all notices fit,
  // each block is fetched once after its notice, and once with its lock; otherwise copies of all four vectors
  // expire.
  constexpr std::uint32_t all_notices_fit = 16;
  for (std::uint32_t nodes = 4; nodes <= nodes_max; nodes *= 4) {
    const ScaleResult r = cost(Policy::migrating, WorkloadKind::small_regions, nodes);
    EXPECT_LE(r.messages, regions * (rounds(nodes) + 0.6)) << nodes;
    EXPECT_LE(r.remote_operations, regions * (nodes <= all_notices_fit ? 5 : 10)) << nodes;
    if (nodes <= all_notices_fit) {
      EXPECT_EQ(r.renewals, 0) << nodes;
    }
  }
}

TEST(Scale, AllWorkloadsGiveRightValuesAndTheSameHashForTheSameSeed) {
  for (unsigned i = 0; i < static_cast<unsigned>(Policy::count); ++i) {
    for (unsigned k = 0; k < static_cast<unsigned>(WorkloadKind::count); ++k) {
      const auto policy = static_cast<Policy>(i);
      const auto workload = static_cast<WorkloadKind>(k);
      for (const std::uint32_t nodes : {2u, 8u, 32u}) (void)cost(policy, workload, nodes);
      const std::uint64_t hash = cost(policy, workload, 16, 7).hash;
      EXPECT_EQ(cost(policy, workload, 16, 7).hash, hash) << name_of(policy) << ' ' << name_of(workload);
      EXPECT_NE(cost(policy, workload, 16, 8).hash, hash) << name_of(policy) << ' ' << name_of(workload);
    }
  }
}

}  // namespace
}  // namespace musubi::sim
