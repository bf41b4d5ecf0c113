// Copies between global memory of any rank and any memory of this process, shared memory included. What the
// processor reaches is copied by the calling thread, which may fault; the rest goes by the fabric, through a
// private buffer where the local side is shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/task.h"
#include "runtime/api/runtime.h"

namespace musubi::runtime {

class GlobalTransfer {
 public:
  // Outlives this.
  explicit GlobalTransfer(Runtime& runtime) : runtime_(runtime), memory_(runtime.global_memory()) {}

  // [offset, offset + bytes) of `rank`'s region. REQUIRES: inside of it. 8 aligned bytes move at once.
  // Blocks.
  void get(Rank rank, std::uint64_t offset, void* local, std::size_t bytes);
  // Complete, and visible to all, when it returns.
  void put(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes);

  // The same as a task, which touches `local` until it has ended. None: all is done already, as in reach of
  // the processor, and where the local side is shared memory.
  std::optional<Task<>> begin_get(Rank rank, std::uint64_t offset, void* local, std::size_t bytes);
  std::optional<Task<>> begin_put(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes);

 private:
  bool is_private(const void* local, std::size_t bytes) const;
  bool goes_by_itself(Rank rank, const void* local, std::size_t bytes) const;
  void fetch(Rank rank, std::uint64_t offset, void* local, std::size_t bytes);
  void store(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes);

  Runtime& runtime_;
  GlobalMemory& memory_;
};

}  // namespace musubi::runtime
