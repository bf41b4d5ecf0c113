// Calls between ranks: a request goes to another rank, a thread there serves it, and a reply returns. For
// work on a process rather than on shared memory: its libraries, descriptors, streams, and directory.
//
// The thread that serves a call belongs to no team, and its rank may be in a barrier. A procedure must
// therefore not touch shared memory: its arguments and results travel as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/task.h"

namespace musubi::runtime {

using ProcedureId = StrongId<struct ProcedureTag, std::uint8_t>;
inline constexpr std::size_t procedure_count_max = 32;

// Limit of a request, and of a reply. Callers with more data call repeatedly.
inline constexpr std::size_t call_bytes_max = 1920;

struct Answer {
  std::int64_t status = 0;  // its meaning is the procedure's
  std::size_t bytes = 0;    // in the reply
};

class Procedure {
 public:
  // Serves one call. `reply` has call_bytes_max bytes; the first Answer::bytes of them return. May block and
  // may call other ranks; must not touch shared memory. Several calls may run at once, each on its own
  // thread.
  virtual Answer run(Rank caller, std::span<const std::byte> request,
                     std::span<std::byte> reply) noexcept = 0;

 protected:
  ~Procedure() = default;
};

class RemoteCalls {
 public:
  // `procedure` serves calls of `id` from now on, and outlives the job. Every rank registers each number
  // once, before the job's first barrier.
  virtual void serve(ProcedureId id, Procedure& procedure) noexcept = 0;

  // Runs a procedure at `callee`, which may be this rank: then on the calling thread. Blocks until the reply
  // arrives; stores as much of it as fits. Attached threads, not inside a fault; `request` and `reply` may be
  // in shared memory. Calls order nothing in shared memory.
  virtual Answer call(Rank callee, ProcedureId id, std::span<const std::byte> request,
                      std::span<std::byte> reply) = 0;
  // The same as a task, which waits without blocking its thread. `request` and `reply` are private memory
  // that stays valid until it ends.
  virtual Task<Answer> ask(Rank callee, ProcedureId id, std::span<const std::byte> request,
                           std::span<std::byte> reply) = 0;
  // Runs a procedure on all other ranks concurrently. Blocks until the last has answered. Result: the
  // smallest status, or 0 without other ranks.
  virtual std::int64_t call_others(ProcedureId id, std::span<const std::byte> request) = 0;

 protected:
  ~RemoteCalls() = default;
};

}  // namespace musubi::runtime
