// Memory of every rank that all ranks access by one-sided operations, separate from shared memory: the base
// of the models of explicit global memory (gheap.h). It is always open; only these operations order it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::runtime {

class GlobalMemory {
 public:
  // The next number after those of coherence/regions.h.
  static constexpr fabric::RegionId region{4};

  virtual fabric::Fabric& fabric() noexcept = 0;
  // This rank's region, bytes() long, zero until written.
  virtual std::byte* own() noexcept = 0;
  // `rank`'s region as an address in this process; null: the processor cannot reach it.
  virtual std::byte* direct(Rank rank) noexcept = 0;
  // The same at every rank.
  virtual std::size_t bytes() const noexcept = 0;

  // Reserves a part of every rank's region, page-aligned, for the rest of the job. Every rank calls it with
  // the same sizes in the same order. Result: the offset, or bytes() if too little is left. Any thread.
  virtual std::uint64_t take(std::size_t part_bytes) noexcept = 0;

 protected:
  ~GlobalMemory() = default;
};

}  // namespace musubi::runtime
