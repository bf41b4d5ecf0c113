#include "coherence/migrating/copies/stacks.h"

#include "base/check.h"

namespace musubi::coherence::migrating {

void Stacks::pin(BlockId first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const BlockId id{first.value + i};
    MUSUBI_CHECK(ground_.space.initial_home(id) == ground_.self());
    MUSUBI_CHECK(ground_.store.entry(id).copy.state == State::invalid_clean,
                 "block %lu: touched before it was pinned", static_cast<unsigned long>(id.value));
    ground_.store.entry(id).copy.pinned = true;
  }
  ground_.vm.leave_open({first, count});
}

vm::BlockRun Stacks::blocks(std::size_t range) const {
  const auto [low, high] = in_use_.at(range);
  if (low >= high) return {BlockId{}, 0};
  const BlockId first = *ground_.space.block_at(low);
  return {first, ground_.space.block_at(high - 1)->value - first.value + 1};
}

bool Stacks::is_unchanged(std::size_t range, std::uintptr_t begin, std::uintptr_t end) const {
  const auto [low, high] = in_use_.within(range, begin, end);
  if (low >= high) return true;
  if (!deferred_.empty()) return false;
  const vm::Segment& segment = *ground_.space.segment_at(low);
  const std::size_t offset = segment.offset + (low - segment.base);
  const RankMemory& memory = ground_.store.memory();
  return !ground_.store.differ(memory.private_view + offset, memory.published + offset, high - low);
}

bool Stacks::all_are_unchanged() const {
  const std::size_t end = in_use_.end();
  for (std::size_t i = 0; i < end; ++i) {
    if (!is_unchanged(i, 0, UINTPTR_MAX)) return false;
  }
  return true;
}

}  // namespace musubi::coherence::migrating
