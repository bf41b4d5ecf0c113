// Ranks over ShmFabric for tests.
#pragma once

#include <memory>

#include "exchange_board.h"
#include "fabric/shm/shm_fabric.h"

namespace musubi::fabric::conformance {

// Memory that other processes can map too.
struct SharedMemory {
  os::FileDescriptor file;
  os::Mapping mapping;

  Result<void> make(std::size_t bytes) {
    auto created = os::create_memory_file("musubi-test", bytes);
    if (!created) return created.error();
    file = std::move(created).value();
    auto mapped = os::Mapping::anywhere(bytes, os::Protection::read_write, {file.number()});
    if (!mapped) return mapped.error();
    mapping = std::move(mapped).value();
    return {};
  }
  std::byte* data() { return mapping.data(); }
  RegionMemory as_region(RegionId id, std::size_t bytes) { return {id, data(), bytes, file.number(), 0}; }
};

// A rank: shared memory as its one region, and the fabric over it.
struct ShmRank {
  SharedMemory memory;
  trace::Counters counters;
  std::unique_ptr<ShmFabric> fabric;

  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const Exchange& exchange,
                    WaitingPolicy policy, RegionId region_id = RegionId{0}) {
    if (auto made = memory.make(region_bytes); !made) return made;
    const RegionMemory region = memory.as_region(region_id, region_bytes);
    auto opened = ShmFabric::open(self, ranks, std::span(&region, 1), exchange, counters, policy);
    if (!opened) return opened.error();
    fabric = std::move(opened).value();
    return {};
  }
};

}  // namespace musubi::fabric::conformance
