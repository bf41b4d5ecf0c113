// Parts of the spaces of the workloads.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "simulator/workload.h"
#include "vm/space.h"

namespace musubi::sim {

// `blocks` blocks from address `base` on. With InitialHome::slices each node is the first home of
// `bytes_per_node`, a block being where its first byte is; the other kinds do not look at that.
inline vm::Segment segment(std::uintptr_t base, std::uint64_t blocks, vm::InitialHome home,
                           std::uint64_t bytes_per_node = 0) {
  vm::Segment made;
  made.name = "workload";
  made.base = base;
  made.block_bytes = Workload::block_bytes;
  made.bytes = blocks * Workload::block_bytes;
  made.initial_home = home;
  made.slice_bytes = bytes_per_node;
  return made;
}

// Blocks numbered by node: those of node i begin at i times its share, and their initial home is there.
inline vm::Space sliced_space(std::uint32_t nodes, std::uint64_t blocks_per_node) {
  vm::Space space(nodes);
  space.add(segment(0x10000, nodes * blocks_per_node, vm::InitialHome::slices,
                    blocks_per_node * Workload::block_bytes));
  return space;
}

// `count` arrays one after the other, of `bytes_per_node` times the number of nodes each. They begin at
// multiples of blocks_of_array().
inline std::uint64_t blocks_of_array(std::uint32_t nodes, std::uint64_t bytes_per_node) {
  return (nodes * bytes_per_node + Workload::block_bytes - 1) / Workload::block_bytes;
}
inline void add_arrays(vm::Space& space, std::uint64_t count, std::uint64_t bytes_per_node) {
  const std::uint64_t blocks = blocks_of_array(space.ranks(), bytes_per_node);
  for (std::uint64_t i = 0; i < count; ++i) {
    space.add(segment(0x1000000 + i * (blocks + 1) * Workload::block_bytes, blocks, vm::InitialHome::slices,
                      bytes_per_node));
  }
}

// A number that looks random, always the same for the same value.
inline std::uint64_t mix(std::uint64_t value) {
  return Random(value).next();
}

}  // namespace musubi::sim
