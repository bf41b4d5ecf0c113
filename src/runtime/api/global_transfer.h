// Copies between global memory of any rank and any memory of this process, including shared memory. The
// calling thread copies memory that the processor reaches, and may fault; the fabric copies the rest, through
// a private buffer if the local side is shared memory.
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
  // `runtime` outlives this object.
  explicit GlobalTransfer(Runtime& runtime) : runtime_(runtime), memory_(runtime.global_memory()) {}

  // [offset, offset + bytes) of `rank`'s region. REQUIRES: within the region. 8 aligned bytes are copied
  // atomically. Blocks.
  void get(Rank rank, std::uint64_t offset, void* local, std::size_t bytes);
  // Complete, and visible to all ranks, when it returns.
  void put(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes);

  // The same as a task, which uses `local` until it has ended. None: the copy is done already, because the
  // processor reaches the region or the local side is shared memory.
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
