// Atomic operations by the processor on the live word of a block that some rank of this host is the home of:
// no lock, no task, no trip (docs/decisions/direct_operations.md). A block that its home keeps unpublished,
// and that nobody reads, needs no more: the live bytes are all there is, and who operates has told of their
// version before.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sparse_array.h"
#include "coherence/migrating/ground.h"
#include "coherence/migrating/leases.h"
#include "coherence/migrating/twins.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class DirectOperations {
 public:
  DirectOperations(Ground& ground, Twins& twins, Leases& leases)
      : ground_(ground), twins_(twins), leases_(leases), loans_(ground.space.blocks_max()) {}

  // Result: whether it was done. Any thread, no gate; waits for nobody.
  bool modify(BlockId id, Modification& modification);

  // This rank has operated under the block's lock on the live bytes at `home`, of which it has told as of a
  // version of that time: from now on without the lock. Under the block's gate.
  void lend(Block& b, Rank home, LogicalTime write_ts);

 private:
  // Home and 1 in the upper half, the name of the version in the lower one. Where the block is not lent, how
  // often it could not be, for the copy that is open here.
  struct Loan {
    std::uint64_t raw;
    bool is_given() const { return raw >> 32 != 0; }
    Rank home() const { return Rank{static_cast<std::uint32_t>(raw >> 32) - 1}; }
    std::uint32_t name() const { return static_cast<std::uint32_t>(raw); }
  };
  std::atomic_ref<std::uint64_t> loan_of(BlockId id) {
    ground_.store.hooks().touch();
    return std::atomic_ref(loans_[id.value]);
  }
  bool let_go(Block& b);
  bool stands(BlockId id, Loan loan, const Modification& modification) const;
  bool keeps_order_at(Rank home) const;

  Ground& ground_;
  Twins& twins_;
  Leases& leases_;
  SparseArray<std::uint64_t> loans_;
};

}  // namespace musubi::coherence::migrating
