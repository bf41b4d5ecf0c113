// How the cost of a node grows with the number of nodes, counted: that of `migrating`, and where the policies
// for comparison bend. Every value that the workloads read is looked at.
#include "sim/scale.h"

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
    EXPECT_EQ(r.messages, rounds(nodes)) << nodes;  // one per round, nothing else
    // The neighbours' rows; all notices fit into the messages of the rounds. Where some were dropped, the
    // rows of the other grid have to be renewed, too.
    EXPECT_LE(r.remote_operations, 2 + rounds(nodes)) << nodes;
    EXPECT_LE(r.busiest_operations, 2 + 2 * rounds(nodes)) << nodes;
  }
}

TEST(Scale, NoticesThatANodeReadsAreBoundedInMigratingAlone) {
  constexpr std::uint32_t few_nodes = 16;
  constexpr std::uint32_t nodes = 64;
  // Each node changes four blocks, of which two have a reader: only those are named, and no more than fit.
  EXPECT_EQ(cost(Policy::migrating, WorkloadKind::stencil, few_nodes).notices, few_nodes * 2.0);
  EXPECT_LE(cost(Policy::migrating, WorkloadKind::stencil, nodes).notices,
            static_cast<double>(coherence::signature_notices_for(nodes)));
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
  // The writer tells every reader of every block, and each of them answers; an answer may come before its
  // reader has begun to count.
  EXPECT_LE(r.invalidation_messages, written * 2 * (nodes - 1) / nodes);
  EXPECT_GE(r.invalidation_messages, written * (nodes - 1) / nodes);
  EXPECT_EQ(r.messages, barriers * rounds(nodes) + r.invalidation_messages);
  EXPECT_EQ(r.busiest_operations, barriers * rounds(nodes) + written * (nodes - 1));
}

TEST(Scale, TimestampsAloneRenewWhatNobodyChanged) {
  // Of the rows that a node keeps of its neighbours half change in an iteration; all are fetched or renewed.
  constexpr std::uint32_t nodes = 16;  // with a notice for each row that changes
  const ScaleResult alone = cost(Policy::timestamps, WorkloadKind::stencil, nodes);
  const ScaleResult migrating = cost(Policy::migrating, WorkloadKind::stencil, nodes);
  EXPECT_GE(alone.fetches + alone.renewals, migrating.fetches + migrating.renewals + 1);
  EXPECT_EQ(alone.notices, 0);
}

TEST(Scale, AWriterWithManyReadersFindsThemOneAfterTheOther) {
  // The network is the same for all: what a home gives to each node takes its time at the home's link.
  const auto model = fabric::sim::LatencyModel::tcp_25_gbe();
  const ScaleResult few = cost(Policy::migrating, WorkloadKind::read_mostly, 16, 1, model);
  const ScaleResult many = cost(Policy::migrating, WorkloadKind::read_mostly, 256, 1, model);
  const double block_ns = Workload::block_bytes * static_cast<double>(model.link_ns_per_256_bytes) / 256;
  EXPECT_GE(many.virtual_ns - few.virtual_ns, (256 - 16) * block_ns);
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
