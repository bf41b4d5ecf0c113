// Ranks with a global heap each, over a simulated network as bad as a seed demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/sparse_array.h"
#include "global_heap/breaks.h"
#include "global_heap/layout.h"
#include "global_heap/objects.h"
#include "global_heap/pages.h"
#include "sim_job.h"

namespace musubi::global_heap {

inline constexpr fabric::RegionId simulated_region{0};

struct SimulatedMember {
  SimulatedMember(fabric::sim::SimFabric& node, std::uint64_t bytes)
      : fabric(node), layout(simulated_region, 0, bytes), memory(bytes) {
    node.attach({simulated_region, memory.data(), bytes});
  }
  // Only ways that hold everywhere: the breaks are tested on their own.
  void start(std::uint64_t size, bool full_checks, InjectedBug bug) {
    Hooks hooks;
    hooks.inject(bug);
    auto* const control = reinterpret_cast<Control*>(memory.data() + layout.control_at());
    table.emplace(fabric, HeapPlace{simulated_region, layout.control_at(), control}, ForcedWays{}, hooks);
    table->open({0, size, size, 0});
    pages.emplace(fabric, layout, *table, hooks);
    objects.emplace(fabric, layout, *pages, full_checks, hooks);
  }
  template <class T>
  T read(std::uint64_t at) const {
    T value;
    std::memcpy(&value, memory.data() + at, sizeof value);
    return value;
  }

  fabric::Fabric& fabric;
  const HeapLayout layout;
  SparseArray<std::byte> memory;
  std::optional<BreakTable> table;
  std::optional<Pages> pages;
  std::optional<ObjectAllocator> objects;
};

struct SimulatedHeaps {
  // `bytes` of each rank's region, of which `size` are data from the start.
  SimulatedHeaps(std::uint64_t seed, std::uint32_t ranks, const fabric::conformance::SimBehaviour& behaviour,
                 std::uint64_t bytes, std::uint64_t size, bool full_checks = false,
                 InjectedBug bug = InjectedBug::none)
      : sim(seed, ranks, behaviour) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members.push_back(std::make_unique<SimulatedMember>(sim.node(rank), bytes));
    }
    for (auto& member : members) member->start(size, full_checks, bug);
  }
  Random& random() { return sim.world().random(); }
  Rank any_rank() { return Rank{static_cast<std::uint32_t>(random().below(sim.ranks()))}; }
  std::uint64_t capacity() const { return members[0]->layout.data_bytes(); }
  // When nothing is in flight.
  Breaks breaks(std::uint32_t rank) const {
    return members[rank]->read<Control>(members[rank]->layout.control_at()).breaks;
  }

  std::vector<std::unique_ptr<SimulatedMember>> members;  // outlive the tasks
  fabric::conformance::SimJob sim;
};

}  // namespace musubi::global_heap
