#include "vm/checked/checked_vm.h"

#include <algorithm>

namespace musubi::vm {

void CheckedVm::open_read(BlockRun run) noexcept {
  pages_.open_read(run);
  note(run, Access::read);
}
void CheckedVm::open_write(BlockRun run) noexcept {
  pages_.open_write(run);
  note(run, Access::write);
}
void CheckedVm::upgrade(BlockRun run) noexcept {
  pages_.upgrade(run);
  note(run, Access::write);
}
void CheckedVm::downgrade(BlockRun run) noexcept {
  note(run, Access::read);
  pages_.downgrade(run);
}
void CheckedVm::close(BlockRun run) noexcept {
  note(run, Access::none);
  pages_.close(run);
}
void CheckedVm::leave_open(BlockRun run) noexcept {
  pages_.leave_open(run);
  note(run, Access::write);
}

void CheckedVm::note(BlockRun run, Access access) noexcept {
  const Segment& segment = space_.segment_of(run.first);
  cover(segment);
  const std::size_t begin = (run.first.value - segment.first_block.value) * segment.block_bytes;
  const std::size_t bytes = std::min(run.count * segment.block_bytes, segment.bytes - begin);
  table_.set({segment.base + begin, bytes}, access);
  states_.set(run, access);
}

// Before the first block of a segment opens. Addresses between the parts of a segment are not shared.
void CheckedVm::cover(const Segment& segment) noexcept {
  const Held hold(lock_);
  bool& is_covered = covered_[space_.index_of(segment)];
  if (is_covered) return;
  table_.cover({segment.base, segment.bytes});
  if (segment.parts == nullptr && !segment.holds_stacks && segment.bytes <= filled_bytes_max)
    table_.set({segment.base, segment.bytes}, Access::none);
  is_covered = true;
}

}  // namespace musubi::vm
