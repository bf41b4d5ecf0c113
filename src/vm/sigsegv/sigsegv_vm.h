// Driver of the vm port over real pages: mprotect on the user view, SIGSEGV for faults.
//
// The kernel allows a process about 65,530 mappings, and every border between two accesses costs one. The
// table holds what the engine granted; the pages may allow less. When mappings grow scarce the driver makes
// whole groups of blocks uniform, at the least that any of them is granted, and opens blocks again from its
// table, without asking the engine, when the program touches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/spin_lock.h"
#include "trace/counters.h"
#include "vm/sigsegv/access_table.h"
#include "vm/sigsegv/signal_owner.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

class SigsegvVm final : public Vm, public SignalOwner {
 public:
  struct Settings {
    // Mappings of the kernel that the driver may use; 0 = what the kernel allows, less a share for the
    // program.
    std::size_t mappings_max = 0;
  };
  enum class Placement {
    fresh,    // nothing may stand at the segment's addresses
    replace,  // what stands there goes: the caller has copied it into the system view
  };

  // `memory` is a memfd of at least space.bytes(), laid out by the offsets of `space`; the caller keeps it
  // and may close it afterwards. All segments are added. `space`, `sink` and `counters` outlive the driver.
  // Errors: a block smaller than a page, a memory file too short, no address space.
  static Result<std::unique_ptr<SigsegvVm>> create(const Space& space, int memory, FaultSink& sink,
                                                   Settings settings, trace::Counters& counters);
  ~SigsegvVm() override;

  // Maps the user view of segment `index` of the space, closed. Errors: addresses in use, refused by the
  // kernel. Once per segment, before the first operation on it; not at the same time as other operations.
  Result<void> map_segment(std::size_t index, Placement placement);

  // Opens a mapped segment for good: nothing there is watched any more, and no operation may name its blocks.
  // Takes no table, whatever its size. Errors: refused by the kernel.
  Result<void> leave_open(std::size_t index);

  // All of the rank's memory, readable and writable, by Space offsets. Null never.
  std::byte* system_view() const noexcept { return system_view_; }

  void open_read(BlockRun run) noexcept override;
  void open_write(BlockRun run) noexcept override;
  void upgrade(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;

  // SIGSEGV and SIGBUS. Faults of the user view go to the sink unless the table already grants the access.
  SignalVerdict on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept override;

  // Mappings that the driver uses now, as it reckons.
  std::size_t mappings() const noexcept;
  // Faults that were resolved from the table alone. Any thread.
  std::uint64_t reopened() const noexcept { return reopened_.load(std::memory_order_relaxed); }

 private:
  SigsegvVm(const Space& space, int memory, FaultSink& sink, Settings settings, trace::Counters& counters);

  void open(BlockRun run, Access from, Access to) noexcept;
  void restrict(BlockRun run, Access from_least, Access to) noexcept;
  bool reopen(const Segment& segment, BlockId block, Access wanted) noexcept;
  const Segment& mapped_segment(BlockRun run) const noexcept;

  // The following hold lock_.
  void protect(const Segment& segment, BlockRun run, Access to) noexcept;
  bool try_protect(const Segment& segment, BlockRun run, Access to) noexcept;
  void save_mappings(std::size_t target) noexcept;
  void make_uniform(std::uint64_t group, Access access) noexcept;

  const Space& space_;
  FaultSink& sink_;
  trace::Counters& counters_;
  AccessTable table_;
  std::size_t mappings_max_;
  std::uint32_t mapped_segments_ = 0;  // bit i: segment i
  std::uint32_t open_segments_ = 0;    // bit i: segment i was left open
  std::uint64_t next_group_ = 0;       // where the search for groups to make uniform goes on
  std::byte* system_view_ = nullptr;
  std::size_t system_bytes_ = 0;
  int memory_;
  std::atomic<std::uint64_t> reopened_{0};
  // Held across mprotect: the order of changes to the pages must be the order of changes to the table. The
  // kernel serialises these calls anyway.
  mutable SpinLock lock_;
};

}  // namespace musubi::vm
