#include "sim/cluster.h"

#include <cstdarg>
#include <cstdio>

namespace musubi::sim {
namespace {

vm::Space random_space(const Configuration& c) {
  vm::Space space(c.nodes);
  Random random(c.seed + 0x5bace);
  std::uintptr_t base = 0x10000;
  for (std::uint32_t i = 0; i < c.segments; ++i) {
    vm::Segment segment;
    segment.name = "simulated";
    segment.base = base;
    segment.block_bytes = std::size_t{c.block_bytes} << (i == 2 ? 1 : 0);
    segment.bytes = segment.block_bytes * c.blocks;
    if (c.block_bytes > 64 && random.chance(50)) segment.bytes -= 64;  // a last block that is shorter
    segment.initial_home = static_cast<vm::InitialHome>(random.below(3));
    segment.home = Rank{static_cast<std::uint32_t>(random.below(c.nodes))};
    segment.slice_bytes = segment.block_bytes * ((c.blocks + c.nodes - 1) / c.nodes);
    space.add(segment);
    base += 0x1000000;
  }
  return space;
}

}  // namespace

Cluster::Cluster(const Configuration& configuration) : Cluster(configuration, random_space(configuration)) {}

Cluster::Cluster(const Configuration& configuration, const vm::Space& space)
    : configuration_(configuration),
      world_(configuration.seed),
      network_(world_, configuration.nodes, configuration.model, configuration.hostility),
      space_(space) {
  add_private_parts();
  add_nodes();
}

void Cluster::add_private_parts() {
  Random random(configuration_.seed + 0x9a17);
  for (std::uint64_t i = 0; i < space_.blocks(); ++i) {
    if (!random.chance(configuration_.private_percent)) continue;
    const vm::Extent extent = space_.extent(BlockId{i});
    const std::size_t begin = random.below(extent.bytes);
    private_parts_.add(extent.offset + begin, 1 + random.below(extent.bytes - begin));
  }
}

void Cluster::add_nodes() {
  NodeOptions options;
  options.policy = configuration_.policy;
  options.protocol = configuration_.protocol;
  options.bug = configuration_.bug;
  options.threads = configuration_.threads;
  options.outsiders = configuration_.outsiders;
  options.locks = configuration_.locks;
  options.preemption = configuration_.preemption;
  options.interruption = configuration_.interruption;
  options.coarse_faults = configuration_.coarse_faults != 0;
  options.plain_flags = configuration_.plain_flags != 0;
  options.background = configuration_.background != 0;
  const coherence::PrivateParts* parts = private_parts_.empty() ? nullptr : &private_parts_;
  for (std::uint32_t rank = 0; rank < configuration_.nodes; ++rank) {
    nodes_.push_back(std::make_unique<Node>(network_.node(Rank{rank}), space_, parts, options));
  }
}

std::uint64_t Cluster::total(trace::Counter counter) {
  std::uint64_t sum = 0;
  for (auto& node : nodes_) sum += node->counters().get(counter);
  return sum;
}

void Cluster::violate(const char* format, ...) {
  if (violated()) return;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  violation_ = text;
}

}  // namespace musubi::sim
