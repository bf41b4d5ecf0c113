// Memory of every rank that all reach by one-sided operations, apart from shared memory: what the models of
// explicit global memory stand on (gheap.h). Nothing closes it; nothing but these operations orders it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::runtime {

class GlobalMemory {
 public:
  // The next number behind those of coherence/regions.h.
  static constexpr fabric::RegionId region{4};

  virtual fabric::Fabric& fabric() noexcept = 0;
  // This rank's region, of bytes() bytes, zero until written.
  virtual std::byte* own() noexcept = 0;
  // `rank`'s region as an address of this process; null: out of the processor's reach.
  virtual std::byte* direct(Rank rank) noexcept = 0;
  // The same at every rank.
  virtual std::size_t bytes() const noexcept = 0;

  // A part of every rank's region for one use, page-aligned, for good. Every rank calls it with the same
  // bytes in the same order. Result: where it begins, or bytes() if no so large part is left. Any thread.
  virtual std::uint64_t take(std::size_t part_bytes) noexcept = 0;

 protected:
  ~GlobalMemory() = default;
};

}  // namespace musubi::runtime
