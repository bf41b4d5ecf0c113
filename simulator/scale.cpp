#include "simulator/scale.h"

#include <algorithm>
#include <array>

#include "coherence/core/entry.h"
#include "simulator/policies/directory.h"
#include "simulator/policies/notices.h"
#include "simulator/policies/timestamps.h"
#include "simulator/recorded.h"
#include "simulator/signature_size.h"

namespace musubi::sim {
namespace {

using coherence::BlockWords;
using trace::Counter;

// The costs of one node so far.
struct Spent {
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;
  std::uint64_t invalidation_messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t fetches = 0;
  std::uint64_t renewals = 0;
  std::uint64_t notices = 0;
  std::uint64_t faults = 0;
  std::uint64_t ns = 0;
  std::uint64_t served = 0;

  static Spent by(Node& node) {
    const trace::Counters& c = node.counters();
    fabric::sim::SimFabric& fabric = node.fabric();
    return {c.get(Counter::remote_operations),
            c.get(Counter::messages),
            fabric.messages_sent(coherence::Directory::invalidation),
            c.get(Counter::remote_bytes) + fabric.message_bytes_sent(),
            c.get(Counter::invalidations),
            c.get(Counter::fetches),
            c.get(Counter::renewals),
            c.get(Counter::notices_received),
            c.get(Counter::read_faults) + c.get(Counter::write_faults),
            fabric.world().now_ns(),
            fabric.batches_served()};
  }
};

vm::Space space_of(const Workload& workload, const ScaleRun& run) {
  const vm::Space own = workload.space();
  if (!run.one_initial_home && !run.home_only) return own;
  vm::Space space(run.nodes);
  for (vm::Segment segment : own.segments()) {
    segment.unprotected = segment.home_only = run.home_only;
    if (run.one_initial_home) segment.initial_home = vm::InitialHome::one_rank;
    space.add(segment);
  }
  return space;
}

class Measurement final : private PromiseBase::Observer {
 public:
  explicit Measurement(const ScaleRun& run)
      : run_(run),
        workload_(run.recording != nullptr ? recorded(*run.recording)
                                           : Workload::make(run.workload, run.nodes)),
        cluster_(configuration(), space_of(*workload_, run)),
        meters_(run.nodes) {}

  ScaleResult result();

 private:
  struct Meter {
    Spent begin;
    Spent end;
    std::uint64_t notices_at_once_max = 0;
    std::uint64_t stops_before = 0;
  };

  Configuration configuration() const {
    Configuration c;
    c.seed = run_.seed;
    c.policy = run_.policy;
    c.nodes = run_.nodes;
    c.locks = workload_->locks();
    c.model = run_.model;
    c.protocol.signature_notices_max = run_.signature_notices_max.value_or(
        coherence::signature_notices_for(run_.nodes, 2 * run_.model.latency_ns));
    // Programs have runs of blocks, as in a real job by default; the other workloads touch single ones.
    if (run_.recording != nullptr) c.protocol.run_bytes_max = std::size_t{256} << 10;
    if (run_.recording != nullptr) c.protocol.far_run_bytes_max = std::size_t{1} << 20;
    // Without notices short leases cost this policy more than they save.
    if (run_.policy == Policy::timestamps) c.protocol.lease_ticks = 10;
    return c;
  }
  Task<> play(std::uint32_t rank);
  void task_ended() noexcept override { ++ended_; }
  void add_up(ScaleResult* result);
  std::uint64_t metadata_bytes(std::uint32_t rank);

  const ScaleRun& run_;
  std::unique_ptr<Workload> workload_;
  Cluster cluster_;
  std::vector<Meter> meters_;
  std::vector<Task<>> tasks_;
  std::uint32_t ended_ = 0;
};

Task<> Measurement::play(std::uint32_t rank) {
  Node& node = cluster_.node(rank);
  Meter& meter = meters_[rank];
  const std::uint32_t warm_up = workload_->warm_up();
  for (std::uint32_t iteration = 0; iteration < warm_up + run_.iterations; ++iteration) {
    if (iteration == warm_up) meter.begin = Spent::by(node);
    if (iteration == warm_up) meter.stops_before = workload_->stops(rank);
    const std::uint64_t before = node.counters().get(Counter::notices_received);
    co_await workload_->iterate(cluster_, rank, iteration);
    const std::uint64_t notices = node.counters().get(Counter::notices_received) - before;
    meter.notices_at_once_max = std::max(meter.notices_at_once_max, notices);
  }
  meter.end = Spent::by(node);
}

// Tables and words of the blocks that are open here, the list of sharers of those whose home is here, and the
// notices that are kept or pass through.
std::uint64_t Measurement::metadata_bytes(std::uint32_t rank) {
  Node& node = cluster_.node(rank);
  const std::uint64_t list_bytes = coherence::Directory::sharers_words(run_.nodes) * 8;
  std::uint64_t per_block = coherence::FixedHome::entry_bytes + 8;  // and the word of its lock
  switch (run_.policy) {
    case Policy::directory:
      per_block += coherence::Directory::bytes_per_copy;
      break;
    case Policy::notices:
      per_block += coherence::Notices::bytes_per_copy;
      break;
    case Policy::timestamps:
      per_block += coherence::Timestamps::bytes_per_copy;
      break;
    default:
      per_block = sizeof(BlockWords) + sizeof(coherence::Entry);
  }
  std::uint64_t bytes = 0;
  const vm::Space& space = cluster_.space();
  for (std::uint64_t i = 0; i < space.blocks(); ++i) {
    if (node.vm().access(BlockId{i}) != vm::Access::none) bytes += per_block;
    if (run_.policy == Policy::directory && space.initial_home(BlockId{i}).value == rank) bytes += list_bytes;
  }
  SignatureSize size;
  node.protocol().signature(size);
  const std::uint64_t notices = std::max<std::uint64_t>(size.notices, meters_[rank].notices_at_once_max);
  return bytes + notices * sizeof(coherence::Notice);
}

void Measurement::add_up(ScaleResult* result) {
  const double share = 1.0 / run_.nodes / run_.iterations;
  for (std::uint32_t rank = 0; rank < run_.nodes; ++rank) {
    const Spent& a = meters_[rank].begin;
    const Spent& b = meters_[rank].end;
    const auto mean = [share](std::uint64_t from, std::uint64_t to) {
      return static_cast<double>(to - from) * share;
    };
    result->remote_operations += mean(a.operations, b.operations);
    result->messages += mean(a.messages, b.messages);
    result->invalidation_messages += mean(a.invalidation_messages, b.invalidation_messages);
    result->bytes += mean(a.bytes, b.bytes);
    result->invalidations += mean(a.invalidations, b.invalidations);
    result->fetches += mean(a.fetches, b.fetches);
    result->renewals += mean(a.renewals, b.renewals);
    result->notices += mean(a.notices, b.notices);
    result->faults += mean(a.faults, b.faults);
    result->stops += mean(meters_[rank].stops_before, workload_->stops(rank));
    result->virtual_ns += mean(a.ns, b.ns);
    const std::uint64_t of_this = b.operations - a.operations + b.messages - a.messages;
    result->busiest_operations =
        std::max(result->busiest_operations, static_cast<double>(of_this) / run_.iterations);
    result->busiest_served =
        std::max(result->busiest_served, static_cast<double>(b.served - a.served) / run_.iterations);
    result->metadata_bytes += static_cast<double>(metadata_bytes(rank)) / run_.nodes;
  }
}

ScaleResult Measurement::result() {
  workload_->prepare(cluster_);
  for (std::uint32_t rank = 0; rank < run_.nodes; ++rank) tasks_.push_back(play(rank));
  for (std::uint32_t rank = 0; rank < run_.nodes; ++rank) {
    tasks_[rank].start(cluster_.node(rank).executor(), this);
  }
  while (!cluster_.violated() && cluster_.world().step()) {
  }
  if (!cluster_.violated() && ended_ != run_.nodes) {
    cluster_.violate("deadlock: %u of %u nodes wait", run_.nodes - ended_, run_.nodes);
  }
  ScaleResult result;
  result.violation = cluster_.violation();
  result.hash = cluster_.world().hash();
  if (result.violation.empty()) add_up(&result);
  return result;
}

// How many blocks a node has open, those counted twice of which it has two copies, or hears of in a notice:
// its entry is on a page of its own.
std::uint64_t open_blocks(WorkloadKind workload) {
  switch (workload) {
    case WorkloadKind::all_to_all:
      return 250;
    case WorkloadKind::task_queue:  // results, of many iterations
      return 90;
    case WorkloadKind::gather_scatter:
      return 120;
    default:
      return 20;
  }
}

}  // namespace

ScaleResult measure(const ScaleRun& run) {
  auto measurement = std::make_unique<Measurement>(run);
  ScaleResult result = measurement->result();
  // After a violation tasks still hang in the protocol; taking them apart would trip over more checks.
  if (!result.violation.empty()) (void)measurement.release();
  return result;
}

// From measurements of 1,024 nodes.
std::uint64_t memory_needed(const ScaleRun& run) {
  if (run.recording != nullptr) return 0;  // a rank of the real job had as much
  const std::uint64_t blocks = Workload::make(run.workload, run.nodes)->space().blocks();
  std::uint64_t per_node = run.policy == Policy::migrating ? 900'000 : 200'000;
  // The own signature, the one gathered at a barrier with its index, and the messages.
  if (run.policy == Policy::notices) per_node += blocks * 250;
  return run.nodes * (per_node + open_blocks(run.workload) * Workload::block_bytes + blocks);
}

}  // namespace musubi::sim
