// The invariants of coherence.md section 9, looked at from outside after events: it reads words, tables and
// copies of all nodes, which no node could do. They are those of `migrating`; of the policies for comparison
// only the values are checked (sim/program.h).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/fabric/world.h"

namespace musubi::sim {

class StateChecker final : public fabric::sim::Observer {
 public:
  // Looks at one block and one node each `check_every` events, in turn.
  StateChecker(Cluster& cluster, std::uint32_t check_every);

  void after_event() noexcept override;
  // Once nothing is under way: every block has one home, and it is free.
  void check_at_rest();

 private:
  struct Chains {
    std::uint32_t ends = 0;
    std::uint32_t free_ends = 0;
    std::uint32_t home = 0;  // a free end, when there is one
    std::uint32_t longest = 0;
    bool cyclic = false;
  };
  Chains follow(BlockId block);
  void check_block_of_fixed_home(BlockId block);
  void check_block(BlockId block);
  void check_copy(BlockId block, std::uint32_t rank, std::uint32_t home);
  void check_sleep(BlockId block, const Node& home);
  void check_invariants(BlockId block);
  void check_node(std::uint32_t rank);

  Cluster& cluster_;
  fabric::sim::World& world_;
  std::uint32_t check_every_;
  const bool checks_blocks_;
  std::uint64_t events_ = 0;
  std::uint64_t checks_ = 0;
  struct Home {
    std::uint32_t rank = 0;
    std::uint64_t write_ts = 0;
  };
  std::vector<Home> homes_;              // seen last, by block
  std::vector<std::uint64_t> acquired_;  // seen last, by node
  std::vector<std::uint32_t> depth_;     // by node, of the chain that starts there
};

}  // namespace musubi::sim
