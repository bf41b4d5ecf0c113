#include "simulator/cluster.h"

#include <cstdarg>
#include <cstdio>

namespace musubi::sim {
namespace {

bool is_of_fixed_homes(const Configuration& c, const vm::Segment& segment) {
  const Policy policy = c.policy == Policy::mixed ? static_cast<Policy>(segment.policy) : c.policy;
  return kind_of(policy) == coherence::PolicyKind::fixed_homes;
}

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
    if (c.whole_cells != 0) segment.element_bytes = c.cell_bytes;
    if (c.policy == Policy::mixed) segment.policy = static_cast<std::uint8_t>(i % mixed_policies);
    segment.unprotected = c.unprotected != 0 && is_of_fixed_homes(c, segment);
    segment.home_only = segment.unprotected && c.unprotected == 2;
    space.add(segment);
    base += 0x1000000;
  }
  return space;
}

}  // namespace

Cluster::Cluster(const Configuration& configuration) : Cluster(configuration, random_space(configuration)) {}

Cluster::Cluster(const Configuration& configuration, const vm::Space& space)
    : configuration_(as_policy_allows(configuration)),
      world_(configuration.seed),
      network_(world_, configuration.nodes, configuration.model, configuration.hostility),
      space_(space),
      late_begin_(space_.segments().size()) {
  if (configuration_.late_segments != 0) {
    const std::uint64_t blocks = std::uint64_t{configuration_.phases + 1} * late_segments_at_once;
    space_.leave_room(blocks, blocks * configuration_.block_bytes);
  }
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
  options.wrong_habits = configuration_.wrong_habits;
  options.coarse_faults = configuration_.coarse_faults != 0;
  options.plain_flags = configuration_.plain_flags != 0;
  options.background = configuration_.background != 0;
  options.lock_uses = configuration_.lock_uses;
  options.parcel_bytes = configuration_.parcel_bytes;
  options.unused_barriers = configuration_.unused_barriers;
  options.room_bytes = std::size_t{configuration_.room_blocks} * configuration_.block_bytes;
  const coherence::PrivateParts* parts = private_parts_.empty() ? nullptr : &private_parts_;
  for (std::uint32_t rank = 0; rank < configuration_.nodes; ++rank) {
    nodes_.push_back(std::make_unique<Node>(network_.node(Rank{rank}), space_, parts, options));
  }
}

// Each has one block. Their number matters, and that addresses do not follow the order of addition.
BlockId Cluster::add_late_segments() {
  late_begin_ = space_.segments().size();
  const BlockId first{space_.blocks()};
  for (std::size_t i = 0; i < late_segments_at_once; ++i) {
    const std::size_t number = late_begin_ + i;
    vm::Segment segment;
    segment.name = "late";
    segment.base = 0x40000000 + (number % 2 == 0 ? number : 1000 - number) * 0x10000;
    segment.block_bytes = configuration_.block_bytes;
    segment.bytes = segment.block_bytes;
    segment.home = Rank{static_cast<std::uint32_t>(number % configuration_.nodes)};
    if (configuration_.policy == Policy::mixed) {
      segment.policy = static_cast<std::uint8_t>(number % mixed_policies);
    }
    segment.unprotected = configuration_.unprotected != 0 && is_of_fixed_homes(configuration_, segment);
    segment.home_only = segment.unprotected && configuration_.unprotected == 2;
    const vm::Segment& added = space_.add(segment);
    if (space_.block_at(segment.base) != added.first_block) violate("late segment %zu is not found", number);
  }
  world_.reached("segments.late");
  if (space_.segments().size() > 16) world_.reached("segments.more_than_16");
  return first;
}

void Cluster::remove_late_segments() {
  for (const vm::Segment& segment : space_.segments().subspan(late_begin_)) {
    space_.remove(segment);
    if (space_.block_at(segment.base)) violate("a removed segment is found");
  }
  late_begin_ = space_.segments().size();
}

bool Cluster::has_fixed_home(BlockId block) const {
  return is_of_fixed_homes(configuration_, space_.segment_of(block));
}

Rank Cluster::home_of(BlockId block) const {
  const auto moved = moved_homes_.find(block.value);
  return moved != moved_homes_.end() ? moved->second : space_.initial_home(block);
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
