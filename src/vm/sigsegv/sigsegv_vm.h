// Driver of the vm port over real pages: mprotect on the user view, SIGSEGV for faults.
//
// The kernel allows a process about 65,530 mappings, and every border between two accesses costs one. The
// table holds the access that the engine granted; the pages may allow less. When mappings become scarce, the
// driver makes whole groups of blocks uniform, at the least access granted to any of them. When the program
// touches such a block, the driver opens it again from the table, without asking the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/spin_lock.h"
#include "trace/counters.h"
#include "vm/paged/paged_vm.h"
#include "vm/sigsegv/access_table.h"

namespace musubi::vm {

class SigsegvVm final : public PagedVm {
 public:
  struct Settings {
    // Kernel mappings that the driver may use; 0: the kernel's limit minus a share for the program.
    std::size_t mappings_max = 0;
  };

  // `memory` is a memfd of at least space.bytes(), laid out by the offsets of `space`; the caller keeps it
  // and may close it afterwards. All segments are added. `space`, `sink` and `counters` outlive the driver.
  // Errors: a block smaller than a page, a memory file too short, no address space.
  static Result<std::unique_ptr<SigsegvVm>> create(const Space& space, int memory, FaultSink& sink,
                                                   Settings settings, trace::Counters& counters);

  Result<void> map_segment(std::size_t index, Placement placement) override;
  Result<void> map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                        Placement placement) override;

  void open_read(BlockRun run) noexcept override;
  void open_write(BlockRun run) noexcept override;
  void upgrade(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;
  void leave_open(BlockRun run) noexcept override { open_write(run); }

  // The driver's estimate of the mappings that it uses.
  std::size_t mappings() const noexcept;

 private:
  SigsegvVm(const Space& space, FaultSink& sink, Settings settings, trace::Counters& counters);

  void open(BlockRun run, Access from, Access to) noexcept;
  void restrict(BlockRun run, Access from_least, Access to) noexcept;
  bool reopen(const Segment& segment, BlockId block, Access wanted) noexcept;
  // Faults of the user view go to the sink unless the table already grants the access.
  SignalVerdict on_segmentation_fault(const Touch& touch) noexcept override;
  SignalVerdict on_bus_error(const Touch& touch) noexcept override;
  bool allow_code(const Segment& segment) noexcept override;

  void protect(const Segment& segment, BlockRun run, Access to) noexcept MUSUBI_REQUIRES(lock_);
  int protection(const Segment& segment, Access access) const noexcept;
  bool try_protect(const Segment& segment, BlockRun run, Access to) noexcept MUSUBI_REQUIRES(lock_);
  void save_mappings(std::size_t target) noexcept MUSUBI_REQUIRES(lock_);
  void make_uniform(std::uint64_t group, Access access) noexcept MUSUBI_REQUIRES(lock_);

  trace::Counters& counters_;
  // Held across mprotect: the pages and the table must change in the same order. The kernel serialises these
  // calls anyway.
  mutable SpinLock lock_;
  AccessTable table_ MUSUBI_GUARDED_BY(lock_);
  std::size_t mappings_max_ MUSUBI_GUARDED_BY(lock_);
  // The search for groups to make uniform continues here.
  std::uint64_t next_group_ MUSUBI_GUARDED_BY(lock_) = 0;
};

}  // namespace musubi::vm
