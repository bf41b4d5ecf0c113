#include "topology.h"

#include <hwloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "os/cpu.h"

namespace musubi::tools {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { ::hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Topology load(const std::string& description) {
  // Without it hwloc cannot find the topology, and prints that on the job's error output.
  if (description.empty() && ::access("/sys/devices/system/cpu/cpu0/topology", R_OK) != 0) return nullptr;
  hwloc_topology_t made = nullptr;
  if (::hwloc_topology_init(&made) != 0) return nullptr;
  Topology topology(made);
  // Devices are left out by default; caches are left out because the start of the job waits for this. All
  // other levels are needed: hwloc relates a processor to its node by their common parent.
  ::hwloc_topology_set_cache_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  ::hwloc_topology_set_icache_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (description.empty()) {
    ::hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  } else if (::hwloc_topology_set_synthetic(made, description.c_str()) != 0) {
    return nullptr;
  }
  if (::hwloc_topology_load(made) != 0) return nullptr;
  return topology;
}

bool reads(const char* path, const char* expected) {
  std::ifstream file(path);
  std::string word;
  return file >> word && word == expected;
}

// Small machines, where no choice exists and every job would wait for hwloc to find that out.
bool every_processor_is_a_core_of_one_node() {
  return reads("/sys/devices/system/cpu/smt/active", "0") && reads("/sys/devices/system/node/online", "0");
}

std::vector<Core> cores_by_number() {
  std::vector<Core> cores;
  const std::string allowed = os::allowed_core_set();
  for (std::uint32_t processor = 0; processor < allowed.size(); ++processor) {
    if (allowed[processor] == '1') cores.push_back({0, {processor}});
  }
  return cores;
}

}  // namespace

std::vector<Core> allowed_cores(const std::string& description) {
  if (description.empty() && every_processor_is_a_core_of_one_node()) return cores_by_number();
  const Topology topology = load(description);
  if (topology == nullptr) return cores_by_number();
  std::vector<Core> cores;
  hwloc_obj_t last_core = nullptr;
  for (hwloc_obj_t unit = nullptr;
       (unit = ::hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr;) {
    // Kernels that do not report cores show processors only.
    const hwloc_obj_t core = ::hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, unit);
    if (core == nullptr || core != last_core) {
      const int node = ::hwloc_bitmap_first(unit->nodeset);
      cores.push_back({node < 0 ? 0u : static_cast<std::uint32_t>(node), {}});
    }
    last_core = core;
    cores.back().processors.push_back(unit->os_index);
  }
  return cores;
}

std::vector<Processors> place_on_this_host(const std::string& bind, std::uint32_t ranks,
                                           std::uint32_t threads_per_rank) {
  const Binding binding = bind == "core"   ? Binding::core
                          : bind == "auto" ? Binding::automatic
                                           : Binding::none;
  // Finding the cores takes a while: done only if ranks may be pinned.
  const bool fits = std::uint64_t{ranks} * threads_per_rank <= os::allowed_cores();
  if (binding == Binding::none || !fits) return {};
  return place_ranks(allowed_cores(), ranks, threads_per_rank, binding);
}

}  // namespace musubi::tools
