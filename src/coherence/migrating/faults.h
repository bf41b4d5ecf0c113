// Page faults: from the touch of a closed page to its opening.
#pragma once

#include "base/task.h"
#include "coherence/migrating/fault_holds.h"
#include "coherence/migrating/runs.h"
#include "coherence/migrating/unpublished.h"

namespace musubi::coherence::migrating {

// No caller holds a gate. Any thread.
class Faults {
 public:
  Faults(Ground& ground, FaultHolds& holds, Twins& twins, Leases& leases, Arrivals& arrivals,
         Fetches& fetches, Runs& runs, Unpublished& unpublished)
      : ground_(ground),
        holds_(holds),
        twins_(twins),
        leases_(leases),
        arrivals_(arrivals),
        fetches_(fetches),
        runs_(runs),
        unpublished_(unpublished) {}

  // Opens the block. Waits for the end of what holds faults, and tries again. `in_order`: opens no bytes that
  // no acquire in order has covered. Result: open, or not_in_order.
  Task<FaultOutcome> fault(BlockId block, Touch touch, bool in_order);
  // As Protocol::modify_at_once(), on a block that is open for writing while the rank is alone.
  bool modify_at_once(BlockId block, Modification& modification);

 private:
  Task<FaultOutcome> fault_once(BlockId block, Touch touch, bool in_order);
  Task<bool> make_writable(Block& b);
  Task<> look_while_held(Block& b, std::uintptr_t address);
  Task<> end_of_holding();

  Ground& ground_;
  FaultHolds& holds_;
  Twins& twins_;
  Leases& leases_;
  Arrivals& arrivals_;
  Fetches& fetches_;
  Runs& runs_;
  Unpublished& unpublished_;
};

}  // namespace musubi::coherence::migrating
