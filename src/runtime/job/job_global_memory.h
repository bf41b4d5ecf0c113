// Global memory of a job: a region of the fabric.
#pragma once

#include <atomic>
#include <vector>

#include "os/memory.h"
#include "runtime/api/global_memory.h"

namespace musubi::runtime {

class JobGlobalMemory final : public GlobalMemory {
 public:
  // `own`: the memory that the fabric has as GlobalMemory::region.
  JobGlobalMemory(fabric::Fabric& fabric, std::byte* own, std::size_t bytes)
      : fabric_(fabric), own_(own), reached_(fabric.ranks()), bytes_(bytes) {
    for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
      if (fabric.capabilities(Rank{rank}).local_pointer) reached_[rank] = fabric.direct(Rank{rank}, region);
    }
    reached_[fabric.self().value] = own;
  }

  fabric::Fabric& fabric() noexcept override { return fabric_; }
  std::byte* own() noexcept override { return own_; }
  std::byte* direct(Rank rank) noexcept override { return reached_[rank.value]; }
  std::size_t bytes() const noexcept override { return bytes_; }
  std::uint64_t take(std::size_t part_bytes) noexcept override {
    const std::uint64_t page = os::page_bytes();
    std::uint64_t begin = taken_.load();
    std::uint64_t end = 0;
    do {
      if (part_bytes > bytes_ - begin) return bytes_;
      end = (begin + part_bytes + page - 1) / page * page;
    } while (!taken_.compare_exchange_weak(begin, end));
    return begin;
  }

 private:
  fabric::Fabric& fabric_;
  std::byte* const own_;
  std::vector<std::byte*> reached_;
  const std::size_t bytes_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace musubi::runtime
