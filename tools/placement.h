// Assigns the processors to which each rank of a job is pinned. No I/O.
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
  core,       // whenever there are enough cores
  automatic,  // when the job takes more than half of the cores: two such jobs cannot both want the same cores
};

using Processors = std::vector<std::uint32_t>;

// The processors of each rank, by rank; empty: no rank is pinned. `cores` are those that the job may use,
// near ones next to each other (as hwloc orders them). Ranks get whole cores, on one NUMA node each while
// that is possible; hardware threads of one core go to different threads only when there are too few cores.
// Two ranks never share a processor: with too few processors no rank is pinned.
std::vector<Processors> place_ranks(std::span<const Core> cores, std::uint32_t ranks,
                                    std::uint32_t threads_per_rank, Binding binding);

}  // namespace musubi::tools
