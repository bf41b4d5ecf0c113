// Calls between ranks: bytes go to another rank, a thread there works on them, bytes come back. For work on a
// process and not on shared memory: its libraries, its descriptors and streams, its directory.
//
// The thread that serves a call belongs to no team, and its rank may be in a barrier meanwhile. So a
// procedure leaves shared memory alone: its arguments and results travel as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/task.h"

namespace musubi::runtime {

using ProcedureId = StrongId<struct ProcedureTag, std::uint8_t>;
inline constexpr std::size_t procedure_count_max = 32;

// Of a request, and of a reply. Callers with more call again.
inline constexpr std::size_t call_bytes_max = 1920;

struct Answer {
  std::int64_t status = 0;  // what the procedure says it means
  std::size_t bytes = 0;    // of the reply
};

class Procedure {
 public:
  // Serves one call. `reply` has call_bytes_max bytes; those that the answer counts travel back. May block,
  // may call other ranks; may not touch shared memory. Several calls may run at once, each on its thread.
  virtual Answer run(Rank caller, std::span<const std::byte> request,
                     std::span<std::byte> reply) noexcept = 0;

 protected:
  ~Procedure() = default;
};

class RemoteCalls {
 public:
  // From now on calls of `id` are served by `procedure`, which outlives the job. Every rank does so before it
  // enters the job's first barrier, each number once.
  virtual void serve(ProcedureId id, Procedure& procedure) noexcept = 0;

  // Runs a procedure at `callee` (itself allowed: then on the calling thread). Blocks until it has answered.
  // Of the reply as much is stored as fits. Attached threads, not inside a fault; `request` and `reply` may
  // lie in shared memory. Calls order nothing in shared memory.
  virtual Answer call(Rank callee, ProcedureId id, std::span<const std::byte> request,
                      std::span<std::byte> reply) = 0;
  // The same as a task, which waits without its thread. `request` and `reply` live until it ends, and lie in
  // private memory.
  virtual Task<Answer> ask(Rank callee, ProcedureId id, std::span<const std::byte> request,
                           std::span<std::byte> reply) = 0;
  // Runs a procedure at all other ranks at the same time. Blocks until the last has answered. Result: the
  // smallest status, or 0 without other ranks.
  virtual std::int64_t call_others(ProcedureId id, std::span<const std::byte> request) = 0;

 protected:
  ~RemoteCalls() = default;
};

}  // namespace musubi::runtime
