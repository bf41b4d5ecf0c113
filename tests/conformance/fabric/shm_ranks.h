// Ranks over ShmFabric for tests.
#pragma once

#include <memory>

#include "exchange_board.h"
#include "fabric/shm/shm_fabric.h"

namespace musubi::fabric::conformance {

// One rank: a memory file as its one region, and the fabric over it.
struct ShmRank {
  os::FileDescriptor file;
  os::Mapping memory;
  trace::Counters counters;
  std::unique_ptr<ShmFabric> fabric;

  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const Exchange& exchange,
                    WaitingPolicy policy, RegionId region_id = RegionId{0}) {
    auto created = os::create_memory_file("musubi-test", region_bytes);
    if (!created) return created.error();
    file = std::move(created).value();
    auto mapped = os::Mapping::anywhere(region_bytes, os::Protection::read_write, {file.number()});
    if (!mapped) return mapped.error();
    memory = std::move(mapped).value();
    const RegionMemory region{region_id, memory.data(), region_bytes, file.number(), 0};
    auto opened = ShmFabric::open(self, ranks, std::span(&region, 1), exchange, counters, policy);
    if (!opened) return opened.error();
    fabric = std::move(opened).value();
    return {};
  }
};

}  // namespace musubi::fabric::conformance
