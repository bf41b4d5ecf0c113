// Driver of the vm port around another one, for the setting checks=verify: whenever the program's thread has
// synchronised, the driver closes all open blocks to the program. An access that no check has preceded since
// then faults, even if no other rank has taken the block.
//
// A program with many short locks would only close and open blocks so: after many synchronisations the driver
// closes at some of them only.
//
// The protocol knows nothing of it: a block that is hidden is open for the protocol.
//
// To record a program (runtime/job/recording.h), the driver also hides the blocks that the protocol opens:
// each block is shown when the program touches it, and only then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

class VerifyingVm final : public Vm {
 public:
  enum class Synchronisation : std::uint8_t { barrier, lock, unlock, release, acquire, end, other };
  class Listener {
   public:
    // The program's thread begins it. `number`: of the lock, or of the channel of a release or an acquire.
    virtual void on_synchronisation(Synchronisation kind, std::uint64_t number) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  enum class Shows : std::uint8_t { what_is_opened, what_is_touched };

  // Both outlive the driver.
  VerifyingVm(Vm& pages, const Space& space, Shows shows)
      : pages_(pages), space_(space), shows_(shows), states_(space.blocks_max()), open_(space.blocks_max()) {}

  void open_read(BlockRun run) noexcept override;
  void open_write(BlockRun run) noexcept override;
  void upgrade(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;
  void leave_open(BlockRun run) noexcept override;

  static constexpr std::uint64_t always_hides = 2000, hides_each = 64;

  // Call when the rank's only thread of the program has synchronised: hides at the first `always_hides`
  // calls, later at one of `hides_each`.
  void synchronised() noexcept;
  // Hides all open blocks but stacks, and those that stay open.
  void hide() noexcept;
  // Opens the hidden blocks that overlap the range, for `wanted` at most, as far as the protocol has them
  // open. Any thread, also inside a handler. Result: whether there were any.
  bool reveal(AddressRange range, Access wanted) noexcept;
  // The program has touched the block by a store alone: a check of another access finds it untouched.
  void expect_stores(BlockId block) noexcept;
  // Of all synchronisations of the program. Outlives the driver's use.
  void set_listener(Listener* listener) noexcept { listener_ = listener; }
  void begin_synchronisation(Synchronisation kind, std::uint64_t number = 0) noexcept {
    if (listener_ != nullptr) listener_->on_synchronisation(kind, number);
  }
  // The access that reveal() has allowed the program since the last hide().
  Access touched(BlockId block) const noexcept;
  // Whether a fault of the block may come after a check that passed since the last hide(): the block was open
  // for this access, and another rank has taken it since; or it has not been open before, when states may
  // have allowed more than the pages.
  bool may_be_checked(BlockId block, Access wanted) const noexcept;

 private:
  struct State {
    std::uint32_t first_turn = 0;        // in which the block was open
    std::uint32_t turn = 0;              // the last one
    Access open_in_turn = Access::none;  // the most that was allowed in it
    Access access = Access::none;        // for the protocol
    Access shown = Access::none;         // to the program, at most as much
    Access touched = Access::none;       // by reveal(), since the last hide()
    bool is_listed = false;              // in open_
  };

  using Operation = void (Vm::*)(BlockRun) noexcept;
  void change(BlockRun run, Operation operation, Access access) noexcept;
  void hide_untouched(BlockId block, State& state) noexcept MUSUBI_REQUIRES(lock_);
  void note_open(BlockId block, State& state) noexcept MUSUBI_REQUIRES(lock_);
  bool reveal_run(BlockRun run, Access wanted) noexcept MUSUBI_REQUIRES(lock_);

  Vm& pages_;
  const Space& space_;
  const Shows shows_;
  Listener* listener_ = nullptr;
  mutable SpinLock lock_;
  SparseArray<State> states_ MUSUBI_GUARDED_BY(lock_);        // by block
  SparseArray<std::uint64_t> open_ MUSUBI_GUARDED_BY(lock_);  // blocks open in this turn
  std::size_t opened_ MUSUBI_GUARDED_BY(lock_) = 0;           // their number
  std::uint32_t turn_ MUSUBI_GUARDED_BY(lock_) = 1;
  std::uint64_t synchronisations_ MUSUBI_GUARDED_BY(lock_) = 0;
};

}  // namespace musubi::vm
