// Acquires: notices end the copies that they name, a signature's minimum those that it no longer names.
#pragma once

#include <cstddef>

#include "base/task.h"
#include "base/task_group.h"
#include "coherence/migrating/copies/stacks.h"
#include "coherence/migrating/misses/fetches.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class Acquires {
 public:
  Acquires(Ground& ground, DeferredUpdates& deferred, Twins& twins, Leases& leases, Relays& relays,
           Fetches& fetches, Stacks& stacks)
      : ground_(ground),
        deferred_(deferred),
        twins_(twins),
        leases_(leases),
        relays_(relays),
        fetches_(fetches),
        stacks_(stacks) {}

  // As Protocol.
  Task<> acquire(SignatureView signature, Audience audience);
  bool acquire_at_once(SignatureView signature, Audience audience);
  Task<> acquire_clock(LogicalTime time);

 private:
  Task<bool> apply_notice(Notice notice, std::size_t& bytes_ahead);
  Task<> end_of_visits();
  Task<> refresh_pinned(SignatureView signature, TaskGroup& fetches);
  bool is_fetched_ahead(const HeldBlock& b, std::size_t& bytes_ahead);
  Task<bool> expire(BlockId id, std::size_t& bytes_ahead);
  Task<> refresh(BlockId id);
  Task<> expire_until(LogicalTime time);
  Task<> expire_leases();
  Task<> refresh_stacks();

  Ground& ground_;
  DeferredUpdates& deferred_;
  Twins& twins_;
  Leases& leases_;
  Relays& relays_;
  Fetches& fetches_;
  Stacks& stacks_;
  Gate expire_gate_;
};

}  // namespace musubi::coherence::migrating
