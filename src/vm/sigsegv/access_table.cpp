#include "vm/sigsegv/access_table.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

namespace musubi::vm {
namespace {

constexpr std::uint8_t access_mask = 3;
constexpr unsigned granted_shift = 0;
constexpr unsigned applied_shift = 2;

std::uint8_t* reserve(std::size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUSUBI_CHECK(memory != MAP_FAILED, "no address space for a table of %zu bytes", bytes);
  return static_cast<std::uint8_t*>(memory);
}

std::uint64_t groups_in(const Segment& segment) {
  return (segment.blocks + AccessTable::group_blocks - 1) / AccessTable::group_blocks;
}

}  // namespace

// The last group of each segment may be shorter.
AccessTable::AccessTable(const Space& space)
    : space_(space), groups_max_(space.blocks_max() / group_blocks + Space::segments_max) {
  cells_ = reserve(space.blocks_max());
  group_borders_ = reserve(groups_max_);
}

AccessTable::~AccessTable() {
  ::munmap(cells_, space_.blocks_max() + 1);
  ::munmap(group_borders_, groups_max_ + 1);
}

std::uint64_t AccessTable::groups() const noexcept {
  std::uint64_t groups = 0;
  for (const Segment& segment : space_.segments()) groups += groups_in(segment);
  return groups;
}

Access AccessTable::granted(BlockId block) const noexcept {
  return static_cast<Access>((cells_[block.value] >> granted_shift) & access_mask);
}

Access AccessTable::applied(BlockId block) const noexcept {
  return static_cast<Access>((cells_[block.value] >> applied_shift) & access_mask);
}

bool AccessTable::uniform(BlockRun run) const noexcept {
  const std::uint8_t* const first = cells_ + run.first.value;
  return ::memcmp(first, first + 1, run.count - 1) == 0;
}

void AccessTable::set_cells(BlockRun run, unsigned shift, Access to) noexcept {
  const std::uint8_t cell = static_cast<std::uint8_t>((cells_[run.first.value] & ~(access_mask << shift)) |
                                                      (static_cast<std::uint8_t>(to) << shift));
  ::memset(cells_ + run.first.value, cell, run.count);
}

Access AccessTable::most_applied(BlockRun run) const noexcept {
  if (uniform(run)) return applied(run.first);
  Access most = Access::none;
  for (std::uint64_t i = 0; i < run.count; ++i) most = std::max(most, applied(BlockId{run.first.value + i}));
  return most;
}

Access AccessTable::least_granted(BlockRun run) const noexcept {
  Access least = Access::write;
  for (std::uint64_t i = 0; i < run.count; ++i)
    least = std::min(least, granted(BlockId{run.first.value + i}));
  return least;
}

void AccessTable::grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept {
  if (!uniform(run)) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      grant(BlockRun{BlockId{run.first.value + i}}, from_least, from_most, to);
    }
    return;
  }
  const Access from = granted(run.first);
  MUSUBI_CHECK(from_least <= from && from <= from_most, "block %lu has access %d and was to be given %d",
               static_cast<unsigned long>(run.first.value), static_cast<int>(from), static_cast<int>(to));
  set_cells(run, granted_shift, to);
}

void AccessTable::apply(const Segment& segment, BlockRun run, Access to) noexcept {
  if (!uniform(run)) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      apply(segment, BlockRun{BlockId{run.first.value + i}}, to);
    }
    return;
  }
  const std::uint64_t end = run.first.value + run.count;
  const Access from = applied(run.first);
  if (run.first.value > segment.first_block.value) {
    const Access before = applied(BlockId{run.first.value - 1});
    change_border(segment, run.first.value, before != from, before != to);
  }
  if (end < segment.first_block.value + segment.blocks) {
    const Access behind = applied(BlockId{end});
    change_border(segment, end, from != behind, to != behind);
  }
  set_cells(run, applied_shift, to);
}

// A border belongs to the block after it; the first block of a segment has none.
void AccessTable::change_border(const Segment& segment, std::uint64_t block, bool was, bool is) noexcept {
  if (was == is) return;
  borders_ += is ? 1 : std::size_t(-1);
  const std::uint64_t index = block - segment.first_block.value;
  if (index % group_blocks == 0) return;
  group_borders_[first_group(segment) + index / group_blocks] += is ? 1 : -1;
}

std::uint64_t AccessTable::first_group(const Segment& segment) const noexcept {
  std::uint64_t groups = 0;
  for (const Segment& other : space_.segments()) {
    if (other.first_block == segment.first_block) break;
    groups += groups_in(other);
  }
  return groups;
}

std::uint64_t AccessTable::group_of(const Segment& segment, BlockId block) const noexcept {
  return first_group(segment) + (block.value - segment.first_block.value) / group_blocks;
}

BlockRun AccessTable::blocks_of(std::uint64_t group) const noexcept {
  for (const Segment& segment : space_.segments()) {
    if (group < groups_in(segment)) {
      const std::uint64_t begin = group * group_blocks;
      return BlockRun{BlockId{segment.first_block.value + begin},
                      std::min(group_blocks, segment.blocks - begin)};
    }
    group -= groups_in(segment);
  }
  MUSUBI_CHECK(false, "no such group of blocks");
  __builtin_unreachable();
}

}  // namespace musubi::vm
