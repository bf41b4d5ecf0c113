// The operations of the random program on blocks that it names before it touches them.
#include <algorithm>
#include <utility>

#include "simulator/program.h"

namespace musubi::sim {

// Ranges that overlap, and blocks of other threads: a hint may name anything.
Task<> Program::prefetch(Actor& actor) {
  constexpr std::size_t ranges_max = 12;
  const vm::Access wanted = actor.random.chance(70) ? vm::Access::read : vm::Access::write;
  std::vector<AddressRange> ranges;
  const std::uint64_t count = actor.random.between(1, ranges_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const vm::Extent extent = cluster_.space().extent(live_[actor.random.below(live_.size())]);
    const std::size_t skipped = actor.random.below(extent.bytes);
    ranges.push_back({extent.address + skipped, actor.random.below(4 * extent.bytes)});
  }
  if (is_outsider(actor))
    std::erase_if(ranges, [&](const AddressRange& range) {
      const auto block = cluster_.space().block_at(range.begin);
      return !block || block->value >= early_blocks_ || range.bytes > cluster_.space().extent(*block).bytes;
    });
  cluster_.world().reached("blocks.prefetched");
  co_await actor.node->open_all(ranges, wanted);
}

bool Program::may_overwrite(const Actor& actor, std::uint32_t phase, BlockId block) const {
  if (is_outsider(actor) && !is_open(block)) return false;
  const std::size_t offset = cluster_.space().extent(block).offset;
  const bool is_own = style(phase, block) == Style::single_writer
                          ? owner(phase, Cell{block, 0, offset}) == actor.number
                          : style(phase, block) == Style::handover &&
                                channels_[block.value].turn == actor.number && !channels_[block.value].fresh;
  return is_own && std::ranges::none_of(cells_[block.value], [&](std::uint32_t begin) {
           return is_atomic(phase, Cell{block, begin, offset + begin});
         });
}

// Those that lie wholly inside.
std::vector<Program::Cell> Program::cells_in(BlockId first, AddressRange range) const {
  std::vector<Cell> cells;
  for (BlockId block = first; block.value < cells_.size(); ++block.value) {
    const vm::Extent extent = cluster_.space().extent(block);
    if (extent.address >= range.begin + range.bytes) break;
    for (const std::uint32_t begin : cells_[block.value]) {
      const std::uintptr_t at = extent.address + begin;
      if (at >= range.begin && at + cell_bytes_ <= range.begin + range.bytes)
        cells.push_back({block, begin, extent.offset + begin});
    }
  }
  return cells;
}

// The blocks after the first one that are the actor's, too, belong to the range; it may begin and end inside
// of a block. Its cells are written in any order, and read by none before. In between other threads of the
// node release, and this one may.
Task<> Program::overwrite(Actor& actor, std::uint32_t phase, BlockId first) {
  if (!may_overwrite(actor, phase, first)) co_return;
  const vm::Segment& segment = cluster_.space().segment_of(first);
  BlockId last = first;
  const std::uint64_t end = segment.first_block.value + segment.blocks;
  while (last.value + 1 < end && may_overwrite(actor, phase, BlockId{last.value + 1})) ++last.value;
  const vm::Extent begins = cluster_.space().extent(first), ends = cluster_.space().extent(last);
  AddressRange range{begins.address, ends.address + ends.bytes - begins.address};
  const std::size_t cut_before = actor.random.chance(30) ? actor.random.below(begins.bytes) / cell_bytes_ : 0;
  const std::size_t cut_after = actor.random.chance(30) ? actor.random.below(ends.bytes) / cell_bytes_ : 0;
  const std::size_t cut = (cut_before + cut_after) * cell_bytes_;
  if (cut >= range.bytes) co_return;
  range = {range.begin + cut_before * cell_bytes_, range.bytes - cut};
  std::vector<Cell> cells = cells_in(first, range);
  for (std::size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[actor.random.below(i)]);
  co_await actor.node->overwrite(range);
  cluster_.world().reached("range.overwritten");
  const bool may_release = !orders_by_locks_alone(configuration_.policy);
  for (const Cell& cell : cells) {
    if (actor.random.chance(5)) co_await fabric::sim::think(configuration_.think_ns);
    if (may_release && actor.random.chance(3)) co_await actor.node->release(0);
    co_await write(actor, cell);
  }
  if (actor.random.chance(30)) co_await actor.node->written(range);
}

}  // namespace musubi::sim
