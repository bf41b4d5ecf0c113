// Driver of the vm port without pages: a table that the simulator, and compiled checks, read before each
// access.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/vm.h"

namespace musubi::vm {

// Not thread-safe: a simulated node has one thread.
class SoftVm final : public Vm {
 public:
  explicit SoftVm(std::uint64_t blocks) : access_(blocks, Access::none), storable_(blocks) {}

  // Each operation checks the current access of every block of the run.
  void open_read(BlockRun run) noexcept override { change(run, Access::none, Access::none, Access::read); }
  void open_write(BlockRun run) noexcept override {
    set_storable(run, false);
    change(run, Access::none, Access::none, Access::write);
  }
  void upgrade(BlockRun run) noexcept override { change(run, Access::read, Access::read, Access::write); }
  void downgrade(BlockRun run) noexcept override { change(run, Access::write, Access::write, Access::read); }
  void close(BlockRun run) noexcept override;
  void open_stores(BlockRun run) noexcept override {
    change(run, Access::none, Access::none, Access::none);
    set_storable(run, true);
  }
  void leave_open(BlockRun run) noexcept override { open_write(run); }

  bool is_open_for_stores(BlockId block) const noexcept { return storable_[block.value]; }
  Access access(BlockId block) const noexcept { return access_[block.value]; }
  // Operations so far; with real pages each would be a system call.
  std::uint64_t changes() const noexcept { return changes_; }
  bool allows(BlockId block, Access wanted) const noexcept { return access_[block.value] >= wanted; }

 private:
  void change(BlockRun run, Access from_least, Access from_most, Access to) noexcept;

  void set_storable(BlockRun run, bool storable) noexcept;

  std::vector<Access> access_;
  std::vector<bool> storable_;
  std::uint64_t changes_ = 0;
};

}  // namespace musubi::vm
