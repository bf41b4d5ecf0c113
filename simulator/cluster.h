// A whole simulated job: the world, its network, the shared space and its nodes.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "coherence/core/private_parts.h"
#include "simulator/configuration.h"
#include "simulator/fabric/sim_fabric.h"
#include "simulator/fabric/world.h"
#include "simulator/node.h"
#include "vm/space.h"

namespace musubi::sim {

class Cluster {
 public:
  // Nodes over a space of `configuration.segments` small segments with different sizes of blocks and initial
  // homes.
  explicit Cluster(const Configuration& configuration);
  // The same over a given space, for scenarios.
  Cluster(const Configuration& configuration, const vm::Space& space);

  const Configuration& configuration() const { return configuration_; }
  fabric::sim::World& world() { return world_; }
  fabric::sim::Network& network() { return network_; }
  const vm::Space& space() const { return space_; }
  const coherence::PrivateParts& private_parts() const { return private_parts_; }
  // Between two phases (Configuration::late_segments): removes the latest segments, or adds new ones.
  // Result: the first new block; all blocks after it are new, too.
  BlockId add_late_segments();
  void remove_late_segments();

  // Whether the block belongs to the policy home_based.
  bool has_fixed_home(BlockId block) const;
  Rank home_of(BlockId block) const;
  void set_home(BlockId block, Rank home) { moved_homes_[block.value] = home; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  Node& node(std::uint32_t rank) { return *nodes_[rank]; }
  std::uint64_t total(trace::Counter counter);

  // Only the first violation is kept; the run stops at it.
  void violate(const char* format, ...) __attribute__((format(printf, 2, 3)));
  bool violated() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }

 private:
  static constexpr std::size_t late_segments_at_once = 6;

  void add_private_parts();
  void add_nodes();

  Configuration configuration_;
  fabric::sim::World world_;
  fabric::sim::Network network_;
  vm::Space space_;
  std::size_t late_begin_;  // number of the first of the late segments
  coherence::PrivateParts private_parts_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::uint64_t, Rank> moved_homes_;  // by block
  std::string violation_;
};

}  // namespace musubi::sim
