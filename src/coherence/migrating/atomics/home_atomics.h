// Atomic operations at the home of a block, which stays where it is: here by the processor, elsewhere by a
// call (home_operations.h). No block is compared and none moved (docs/decisions/atomics.md).
#pragma once

#include "base/task.h"
#include "coherence/migrating/copies/arrivals.h"
#include "coherence/migrating/copies/leases.h"
#include "coherence/migrating/copies/versions.h"
#include "coherence/migrating/for_others/home_operations.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class HomeAtomics {
 public:
  HomeAtomics(Ground& ground, Versions& versions, LineCopies& lines, Arrivals& arrivals, Leases& leases)
      : ground_(ground), versions_(versions), lines_(lines), arrivals_(arrivals), leases_(leases) {}

  // Result: whether it was done; otherwise nothing has changed, and the operation must bring the block here.
  // Waits for no rank for long.
  Task<bool> modify(HeldBlock& b, Modification& modification);

 private:
  enum class Outcome { done, busy, elsewhere, refused };
  bool may_be_modified(const HeldBlock& b, const Modification& modification) const;
  Task<Outcome> modify_here(HeldBlock& b, Modification& modification);
  bool may_modify_here(const HeldBlock& b) const;
  void change_here(HeldBlock& b, Modification& modification);
  void name_here(HeldBlock& b, const Modification& modification);
  // `home`: where it may be, and where the links lead if it is elsewhere.
  Task<Outcome> modify_at(Rank* home, HeldBlock& b, Modification& modification);
  void change_own(HeldBlock& b, const Modification& modification, AtomicValue next);
  bool has_plain_changes(const HeldBlock& b, const Modification& modification) const;
  void take_result(HeldBlock& b, Rank home, const OperationResult& result, Modification& modification);

  Ground& ground_;
  Versions& versions_;
  LineCopies& lines_;
  Arrivals& arrivals_;
  Leases& leases_;
};

}  // namespace musubi::coherence::migrating
