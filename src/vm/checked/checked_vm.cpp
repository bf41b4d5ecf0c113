#include "vm/checked/checked_vm.h"

#include <algorithm>

#include "base/check.h"

namespace musubi::vm {

void CheckedVm::open_read(BlockRun run) noexcept {
  if (has_pages(run)) pages_.open_read(run);
  allow(run, Access::read);
}
void CheckedVm::open_write(BlockRun run) noexcept {
  if (has_pages(run)) pages_.open_write(run);
  allow(run, Access::write);
}
void CheckedVm::upgrade(BlockRun run) noexcept {
  if (has_pages(run)) pages_.upgrade(run);
  allow(run, Access::write);
}
void CheckedVm::downgrade(BlockRun run) noexcept {
  forbid(run, Access::read);
  if (has_pages(run)) pages_.downgrade(run);
}
void CheckedVm::close(BlockRun run) noexcept {
  forbid(run, Access::none);
  if (has_pages(run)) pages_.close(run);
}
void CheckedVm::leave_open(BlockRun run) noexcept {
  if (has_pages(run)) pages_.leave_open(run);
  allow(run, Access::write);
}

// For `states_` the block is closed: they tell of reads, and of writes that may be followed by reads. Where
// there are pages they are open, and the checks of a recording see all other accesses.
void CheckedVm::open_stores(BlockRun run) noexcept {
  set_table(run, StateTable::open_for_stores);
}

// A thread that has found the table closed looks at `states_` next, which must not allow more.
void CheckedVm::allow(BlockRun run, Access access) noexcept {
  set_table(run, StateTable::state_of(access));
  states_.set(run, access);
}
void CheckedVm::forbid(BlockRun run, Access access) noexcept {
  states_.set(run, access);
  set_table(run, StateTable::state_of(access));
}

void CheckedVm::set_table(BlockRun run, std::uint8_t state) noexcept {
  const Segment& segment = space_.segment_of(run.first);
  cover(segment);
  const std::size_t begin = (run.first.value - segment.first_block.value) * segment.block_bytes;
  const std::size_t bytes = std::min(run.count * segment.block_bytes, segment.bytes - begin);
  table_.set({segment.base + begin, bytes}, state);
}

// Before the first block of a segment opens. Addresses between the parts of a segment are not shared.
void CheckedVm::cover(const Segment& segment) noexcept {
  const Held hold(lock_);
  bool& is_covered = covered_[space_.index_of(segment)];
  if (is_covered) return;
  table_.cover({segment.base, segment.bytes});
  if (segment.unprotected || (segment.parts == nullptr && !segment.holds_stacks))
    table_.close({segment.base, segment.bytes});
  is_covered = true;
}

}  // namespace musubi::vm
