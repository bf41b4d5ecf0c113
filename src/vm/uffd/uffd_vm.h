// Driver of the vm port over real pages: userfaultfd on the user view. The kernel raises SIGBUS in the thread
// that touches an unmapped or write-protected page.
//
// Compared with mprotect, alternating accesses use up no kernel mappings, and a page becomes writable without
// an interrupt to the processors of other threads; but the first write to a write-protected page takes one
// more fault, inside the kernel (docs/decisions/faults.md).
//
// A page that the engine opened may be missing, for instance after the kernel has swapped it out: the driver
// maps it again from its table, without asking the engine. System calls return EFAULT on such a page.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/sparse_array.h"
#include "os/fault_file.h"
#include "trace/counters.h"
#include "vm/paged/paged_vm.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

// Per block: the access that the engine granted. Sparse: takes memory only for blocks that were opened.

// Any thread, also inside a signal handler. The caller serialises work on one block, except hold().
class GrantTable {
 public:
  // REQUIRES: all segments of `space` are added. Ends the process if address space runs out.
  explicit GrantTable(const Space& space) : cells_(space.blocks_max()) {}

  // REQUIRES: every block of the run has been granted between `from_least` and `from_most`. Waits for holders
  // of the blocks.
  void grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept;
  // As grant() from none; left open for good.
  void leave_open(BlockRun run) noexcept;
  bool is_left_open(BlockId block) const noexcept;

  // Until release(), freezes the granted access, if it is `wanted` or more. Result: the granted access;
  // nothing if it is less, or the block was left open.
  std::optional<Access> hold(BlockId block, Access wanted) noexcept;
  void release(BlockId block) noexcept;

 private:
  using Cell = std::uint8_t;  // an Access or left_open, and the held bit
  static constexpr Cell left_open = 3;
  static constexpr Cell held = 4;

  std::atomic_ref<Cell> cell(BlockId block) const noexcept {
    return std::atomic_ref<Cell>(cells_.data()[block.value]);
  }
  void change(BlockRun run, Access from_least, Access from_most, Cell to) noexcept;

  mutable SparseArray<Cell> cells_;
};

class UffdVm final : public PagedVm {
 public:
  // `memory` as for SigsegvVm::create. `space`, `sink` and `counters` outlive the driver. Errors: as there,
  // or the kernel refuses userfaultfd or is older than Linux 6.4.
  static Result<std::unique_ptr<UffdVm>> create(const Space& space, int memory, FaultSink& sink,
                                                trace::Counters& counters);

  Result<void> map_segment(std::size_t index, Placement placement) override;
  Result<void> map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                        Placement placement) override;

  void open_read(BlockRun run) noexcept override;
  void open_write(BlockRun run) noexcept override;
  void upgrade(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;
  void leave_open(BlockRun run) noexcept override;

 private:
  UffdVm(const Space& space, os::FaultFile file, FaultSink& sink, trace::Counters& counters)
      : PagedVm(space, sink), counters_(counters), table_(space), file_(std::move(file)) {}

  Result<void> watch(const Segment& segment, std::uintptr_t address, std::size_t bytes);
  void open(BlockRun run, Access to) noexcept;
  bool reopen(const Segment& segment, BlockId block, Access wanted) noexcept;
  void map_pages(const Segment& segment, BlockRun run, Access access) noexcept;
  void set_writable(const Segment& segment, BlockRun run, bool writable) noexcept;
  void check(int error, const Segment& segment, const char* operation) const noexcept;
  SignalVerdict on_segmentation_fault(const Touch& touch) noexcept override;
  SignalVerdict on_bus_error(const Touch& touch) noexcept override;
  bool allow_code(const Segment& segment) noexcept override;

  trace::Counters& counters_;
  GrantTable table_;
  os::FaultFile file_;
  SegmentSet watched_segments_{views_.space()};
};

}  // namespace musubi::vm
