// Per block: the access that the engine granted, and an upper bound of the access that its pages allow now.
// Per group of blocks: the number of kernel mappings that begin inside it. Sparse: takes memory only for
// blocks that were opened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

// The caller holds the driver's lock for all functions except granted().
class AccessTable {
 public:
  static constexpr std::uint64_t group_blocks = 64;

  // REQUIRES: all segments of `space` are added. Ends the process if address space runs out.
  explicit AccessTable(const Space& space);
  ~AccessTable();
  AccessTable(const AccessTable&) = delete;
  AccessTable& operator=(const AccessTable&) = delete;

  Access granted(BlockId block) const noexcept;
  // Upper bound of the pages' access; never more than granted() between two operations.
  Access applied(BlockId block) const noexcept;
  Access most_applied(BlockRun run) const noexcept;
  Access least_granted(BlockRun run) const noexcept;

  // REQUIRES: every block of the run has been granted between `from_least` and `from_most`.
  void grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept;
  // REQUIRES: the run is inside `segment`.
  void apply(const Segment& segment, BlockRun run, Access to) noexcept;

  // Pairs of neighbours in one segment that differ in applied access: each costs the kernel a mapping.
  std::size_t borders() const noexcept { return borders_; }

  std::uint64_t groups() const noexcept;
  // The number of these borders inside the group (not at its edges).
  std::size_t borders_in(std::uint64_t group) const noexcept { return group_borders_[group]; }
  // The blocks of a group: a group never spans two segments.
  BlockRun blocks_of(std::uint64_t group) const noexcept;
  std::uint64_t group_of(const Segment& segment, BlockId block) const noexcept;

 private:
  // Whole segments are opened in one run: their cells are compared and set at the speed of memory.
  bool uniform(BlockRun run) const noexcept;
  void set_cells(BlockRun run, unsigned shift, Access to) noexcept;  // REQUIRES: uniform(run)
  void change_border(const Segment& segment, std::uint64_t block, bool was, bool is) noexcept;
  std::uint64_t first_group(const Segment& segment) const noexcept;

  const Space& space_;
  std::uint64_t groups_max_;
  std::size_t borders_ = 0;
  std::uint8_t* cells_ = nullptr;  // bits 0-1 granted, bits 2-3 applied
  std::uint8_t* group_borders_ = nullptr;
};

}  // namespace musubi::vm
