// One-sided operations as loads, stores and atomic instructions on memory of this process.
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

// Why the step cannot be carried out: its region, its bounds, its alignment. Null: it can. Any thread,
// signal-safe.
const char* objection_to(RegionViews regions, const Step& step) noexcept;

// Carries the steps out in order, each complete before the next begins. Region, bounds and alignment are
// checked. Result: the bytes moved. Any thread, signal-safe.
std::uint64_t perform(RegionViews regions, std::span<const Step> steps) noexcept;

// The steps of one batch, one by one or by parts, each complete before the next begins. Aligned pieces of 2,
// 4 and 8 bytes of `remote` stay whole if every part but a step's last ends at an aligned word. Checks
// nothing. One thread at a time, signal-safe.
class StepOrder {
 public:
  void get(void* local, const std::byte* remote, std::size_t bytes) noexcept;
  void put(std::byte* remote, const void* local, std::size_t bytes) noexcept;
  // Result: the old value. REQUIRES: an atomic step; `remote` is aligned.
  std::uint64_t modify(const Step& step, std::byte* remote) noexcept;
  // The batch ends: what it stored is visible to every later operation.
  void end() noexcept;

 private:
  // A get must not pass an earlier store, in this batch or in one that was awaited: only a full fence orders
  // the two.
  bool stores_in_flight_ = false;
};

}  // namespace musubi::fabric
