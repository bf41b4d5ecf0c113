// The user locks of the job: queue locks whose payload is the signature of the last holder (coherence.md
// section 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"

namespace musubi::sync {

class LockTable {
 public:
  // `words` (words_bytes(count, ranks), zero) lies in the control region at `words_offset`; the protocol's
  // signature of each rank in the control region at `signature_offset`, before that. Lock i starts at rank i
  // mod ranks.
  LockTable(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
            remote_lock::Grants& grants, std::byte* words, std::uint64_t words_offset, std::size_t count,
            std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks = {});
  ~LockTable();
  static constexpr std::size_t words_bytes(std::size_t count, std::uint32_t ranks) {
    return (2 * count + ranks) * sizeof(std::uint64_t);
  }

  // Not recursive; the tasks of one rank that want the same lock queue up in order of arrival.
  // try_lock waits for no holder of the lock, and for no rank in its queue.
  Task<> lock(LockId lock);
  Task<bool> try_lock(LockId lock);
  Task<> unlock(LockId lock);

 private:
  struct Parts;
  Task<bool> lock_from_elsewhere(LockId lock);

  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
