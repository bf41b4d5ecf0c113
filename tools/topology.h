// The cores of the machine, as hwloc finds them.
#pragma once

#include <string>
#include <vector>

#include "placement.h"

namespace musubi::tools {

// Cores with processors on which this process may run, in hwloc's order: those that share caches, package and
// node stand together. Takes some milliseconds, as hwloc reads many files, except where the kernel says at
// once that every processor is a core of one node. `description` stands for another machine in tests: one of
// hwloc's synthetic topologies, such as "numa:2 core:4 pu:2".
std::vector<Core> allowed_cores(const std::string& description = {});

// The processors of each of so many ranks here, by the setting `bind`; empty: nobody is pinned.
std::vector<Processors> place_on_this_host(const std::string& bind, std::uint32_t ranks,
                                           std::uint32_t threads_per_rank);

}  // namespace musubi::tools
