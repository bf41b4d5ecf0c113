#include "runtime/job/job_global_memory.h"

#include "os/memory.h"

namespace musubi::runtime {

JobGlobalMemory::JobGlobalMemory(fabric::Fabric& fabric, std::byte* own, std::size_t bytes)
    : fabric_(fabric), own_(own), reached_(fabric.ranks()), bytes_(bytes) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    if (fabric.capabilities(Rank{rank}).local_pointer) reached_[rank] = fabric.direct(Rank{rank}, region);
  }
  reached_[fabric.self().value] = own;
}

std::uint64_t JobGlobalMemory::take(std::size_t part_bytes) noexcept {
  const std::uint64_t page = os::page_bytes();
  std::uint64_t begin = taken_.load();
  std::uint64_t end = 0;
  do {
    if (part_bytes > bytes_ - begin) return bytes_;
    end = (begin + part_bytes + page - 1) / page * page;
  } while (!taken_.compare_exchange_weak(begin, end));
  return begin;
}

}  // namespace musubi::runtime
