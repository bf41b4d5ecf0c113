// The cost of one workload under one policy, over one network, on a number of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/fabric/hostility.h"
#include "simulator/policy.h"
#include "simulator/recording.h"
#include "simulator/workload.h"

namespace musubi::sim {

struct ScaleRun {
  Policy policy = Policy::migrating;
  WorkloadKind workload = WorkloadKind::stencil;
  fabric::sim::LatencyModel model;
  std::uint32_t nodes = 2;                             // a power of two
  std::uint32_t iterations = 8;                        // that are measured, after the workload's own warm-up
  std::optional<std::size_t> signature_notices_max{};  // of the policy migrating; none: as many as a job has
  std::uint64_t seed = 1;
  const Recording* recording = nullptr;  // instead of the workload, and once: with its number of nodes
  bool home_only = false;                // memory of the policy home_based, without protection
  bool one_initial_home = false;         // of all blocks: node 0, as of a program's globals
};

// All per node and iteration, the mean over all nodes, unless named otherwise.
struct ScaleResult {
  std::string violation;  // empty: every value that was read was right
  std::uint64_t hash = 0;
  double remote_operations = 0;      // batches of one-sided operations
  double messages = 0;               // of all kinds
  double invalidation_messages = 0;  // with their answers
  double bytes = 0;                  // of both
  double busiest_operations = 0;     // operations and messages of the node that has most of them
  double busiest_served = 0;         // batches on the memory of the node that serves most
  double invalidations = 0;          // copies closed
  double fetches = 0;
  double renewals = 0;
  double notices = 0;  // read
  double faults = 0;
  double stops = 0;  // of those, faults that stop the program: of recordings
  double virtual_ns = 0;
  double metadata_bytes = 0;  // per node, at the end
};

ScaleResult measure(const ScaleRun& run);

// Bytes of the simulator's memory that `run` needs, roughly, for a caller with a limit.
std::uint64_t memory_needed(const ScaleRun& run);

}  // namespace musubi::sim
