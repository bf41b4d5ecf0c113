// Workloads in which several nodes write words of the same block between two times that they meet, as in
// programs whose data is not laid out for blocks.
#pragma once

#include <cstdint>
#include <memory>

#include "simulator/workload.h"

namespace musubi::sim {

std::unique_ptr<Workload> make_gather_scatter(std::uint32_t nodes);
std::unique_ptr<Workload> make_task_queue(std::uint32_t nodes);
std::unique_ptr<Workload> make_small_regions(std::uint32_t nodes);

}  // namespace musubi::sim
