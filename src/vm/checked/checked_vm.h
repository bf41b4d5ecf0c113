// Driver of the vm port around another one: the states that compiled code reads follow the pages.
//
// A state never allows more than the pages, but for a moment that a fault corrects: an opening changes the
// pages first and then the states, a closing the states first. Code that has read a state just before then
// touches a closed page; on an unprotected segment it makes its access (coherence.md section 11).
#pragma once

#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "vm/block_states.h"
#include "vm/checked/state_table.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

class CheckedVm final : public Vm {
 public:
  // All outlive the driver.
  CheckedVm(Vm& pages, const Space& space, StateTable& table)
      : pages_(pages),
        space_(space),
        table_(table),
        states_(space.blocks_max()),
        covered_(space.segments_max) {}

  void open_read(BlockRun run) noexcept override;
  void open_write(BlockRun run) noexcept override;
  void upgrade(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;
  void leave_open(BlockRun run) noexcept override;
  void open_stores(BlockRun run) noexcept override;

  const BlockStates& states() const noexcept { return states_; }

  // Before the program can touch an unprotected segment: all its states are those of closed blocks. Those of
  // a protected one are when its first block opens, but for stacks and segments of several parts.
  void cover(const Segment& segment) noexcept;

 private:
  bool has_pages(BlockRun run) const noexcept { return !space_.segment_of(run.first).unprotected; }
  void allow(BlockRun run, Access access) noexcept;
  void forbid(BlockRun run, Access access) noexcept;
  void set_table(BlockRun run, std::uint8_t state) noexcept;

  Vm& pages_;
  const Space& space_;
  StateTable& table_;
  BlockStates states_;
  SpinLock lock_;
  SparseArray<bool> covered_ MUSUBI_GUARDED_BY(lock_);  // by segment
};

}  // namespace musubi::vm
