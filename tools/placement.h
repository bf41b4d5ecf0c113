// Which processors each rank of a job is pinned to. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace musubi::tools {

// A physical core and its hardware threads, as the kernel numbers them.
struct Core {
  std::uint32_t node = 0;  // NUMA node
  std::vector<std::uint32_t> processors;
};

enum class Binding {
  none,
  core,       // whenever there are enough
  automatic,  // when the job takes more than half of the cores: two such jobs cannot both want the same ones
};

using Processors = std::vector<std::uint32_t>;

// The processors of each rank, by rank; empty: nobody is pinned. `cores` are those that the job may use, near
// ones next to each other (as hwloc orders them). Ranks get whole cores, on one NUMA node each while that is
// possible; hardware threads of one core go to different threads only when there are too few cores. Never two
// ranks on one processor: when there are too few of them nobody is pinned.
std::vector<Processors> place_ranks(std::span<const Core> cores, std::uint32_t ranks,
                                    std::uint32_t threads_per_rank, Binding binding);

}  // namespace musubi::tools
