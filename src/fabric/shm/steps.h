// One-sided operations as loads and stores on mapped memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.h"

namespace musubi::fabric {

// The regions of one rank, as addresses of this process. Null: no such region.
struct RegionView {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};
using RegionViews = std::span<const RegionView, region_count_max>;

// Carries the steps out in order, each complete before the next begins. Bounds and alignment are checked.
// Result: the bytes moved. Any thread, signal-safe.
std::uint64_t perform(RegionViews regions, std::span<const Step> steps) noexcept;

}  // namespace musubi::fabric
