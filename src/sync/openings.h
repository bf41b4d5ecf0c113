// Blocks that the program names before it touches them: many are brought side by side, where faults would
// bring one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address_range.h"
#include "base/task.h"
#include "base/task_group.h"
#include "coherence/protocol.h"
#include "hooks/hooks.h"
#include "sync/flag_order.h"
#include "vm/block_states.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::sync {

// One object per rank; any thread. A range may be empty; it ends before its first address outside of all
// segments. Stacks of this rank are always open, and passed over. `siblings`: as in FlagOrder.
class Openings {
 public:
  // As many runs of blocks as `window` are under way at once, each of at most `run_bytes`, or of one block.
  // `states`, which may be null, tells which blocks are open already.
  Openings(const vm::Space& space, Rank self, FlagOrder& flags, coherence::Protocol& protocol,
           std::size_t window, std::size_t run_bytes, const vm::BlockStates* states, Hooks hooks = {})
      : space_(space),
        self_(self),
        flags_(flags),
        protocol_(protocol),
        window_(window),
        run_bytes_(run_bytes),
        states_(states),
        hooks_(hooks) {}

  // Whether nothing is to be done for the range, as far as is known without a task.
  bool is_open(AddressRange range, vm::Access wanted) const;
  // Makes all blocks of the ranges readable, or writable too, as faults would. `ranges` stays as it is until
  // the task ends.
  Task<> open(std::span<const AddressRange> ranges, vm::Access wanted, bool siblings);
  // Makes them writable. The program is going to store to every byte of `range` before it, or another rank
  // that synchronises with it, reads any: so the blocks that lie wholly inside may lose their bytes.
  Task<> overwrite(AddressRange range, bool siblings);
  // Makes them open for stores alone, or writable (Vm::open_stores).
  Task<> open_for_stores(AddressRange range, bool siblings);
  // A hint: the program will not store to the range before it synchronises next.
  Task<> written(AddressRange range);

 private:
  Task<> open_into(TaskGroup& under_way, AddressRange range, vm::Access wanted, bool alone);
  bool needs_opening(BlockId block, vm::Access wanted) const;
  Task<> open_run(vm::BlockRun run, vm::Access wanted, bool may_guess);
  vm::BlockRun whole_blocks(vm::BlockRun run, AddressRange range) const;

  const vm::Space& space_;
  const Rank self_;
  FlagOrder& flags_;
  coherence::Protocol& protocol_;
  const std::size_t window_;
  const std::size_t run_bytes_;
  const vm::BlockStates* const states_;
  [[no_unique_address]] const Hooks hooks_;
};

}  // namespace musubi::sync
