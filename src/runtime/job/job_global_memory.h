// Global memory of a job: a region of the fabric.
#pragma once

#include <atomic>
#include <vector>

#include "runtime/api/global_memory.h"

namespace musubi::runtime {

class JobGlobalMemory final : public GlobalMemory {
 public:
  // `own`: the memory that the fabric has as GlobalMemory::region.
  JobGlobalMemory(fabric::Fabric& fabric, std::byte* own, std::size_t bytes);

  fabric::Fabric& fabric() noexcept override { return fabric_; }
  std::byte* own() noexcept override { return own_; }
  std::byte* direct(Rank rank) noexcept override { return reached_[rank.value]; }
  std::size_t bytes() const noexcept override { return bytes_; }
  std::uint64_t take(std::size_t part_bytes) noexcept override;

 private:
  fabric::Fabric& fabric_;
  std::byte* const own_;
  std::vector<std::byte*> reached_;
  const std::size_t bytes_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace musubi::runtime
