// The cores of the machine, as hwloc finds them.
#pragma once

#include <string>
#include <vector>

#include "placement.h"

namespace musubi::tools {

// Cores with processors on which this process may run, in hwloc's order: cores that share caches, package and
// node are adjacent. Takes some milliseconds, as hwloc reads many files, unless the kernel says at once that
// every processor is a core of one node. `description` replaces the machine in tests: one of hwloc's
// synthetic topologies, such as "numa:2 core:4 pu:2".
std::vector<Core> allowed_cores(const std::string& description = {});

// The processors of each of `ranks` ranks here, by the setting `bind`; empty: no rank is pinned.
std::vector<Processors> place_on_this_host(const std::string& bind, std::uint32_t ranks,
                                           std::uint32_t threads_per_rank);

}  // namespace musubi::tools
