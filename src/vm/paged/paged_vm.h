// Common base of the drivers over real pages: the views, and the decision which signals are faults of shared
// memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/signal_frame.h"
#include "vm/paged/views.h"
#include "vm/signal/signal_owner.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

// The owner of SIGSEGV and SIGBUS: add it to the FaultHandler for both.
class PagedVm : public Vm, public SignalOwner {
 public:
  virtual ~PagedVm() = default;

  // Maps the user view of segment `index` of the space, closed; an unprotected one stays open, and no
  // operation may name its blocks. Errors: addresses in use, refused by the
  // kernel. Once per segment, before the first operation on it; one thread at a time, concurrent with
  // operations on other segments.
  virtual Result<void> map_segment(std::size_t index, Placement placement) = 0;
  // The same for [address, address+bytes), whole pages of a segment that has parts (Segment::parts); they are
  // in use from then on. Once per part; one thread at a time, concurrent with other operations.
  virtual Result<void> map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                                Placement placement) = 0;

  // Opens a mapped segment for good: its accesses are no longer watched, and no operation may name its
  // blocks. The system view shows its bytes only if `backing` is the memory file. Takes no memory for tables,
  // for a segment of any size. Errors: refused by the kernel.
  Result<void> leave_segment_open(std::size_t index, Backing backing) {
    return views_.leave_open(index, backing);
  }

  // In a child made by fork: replaces the user view by a private copy of the rank's memory. A block is copied
  // at its first touch, after `source` has had it opened; `source` outlives this. From then on no other
  // operation is allowed. Errors: refused by the kernel.
  Result<void> become_copy(CopySource& source);

  // All of the rank's memory, readable and writable, by Space offsets. Never null.
  std::byte* system_view() const noexcept { return views_.system(); }

  // Faults resolved without the sink, because the access had been granted. Any thread.
  std::uint64_t reopened() const noexcept { return reopened_.load(std::memory_order_relaxed); }

  SignalVerdict on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept final;

 protected:
  PagedVm(const Space& space, FaultSink& sink) noexcept : views_(space), sink_(sink) {}

  // A signal that the processor raised for an address of a mapped segment.
  struct Touch {
    const Segment& segment;
    BlockId block;
    os::FaultAccess access;
    int code;  // si_code
    std::uintptr_t address;
    std::uintptr_t program_counter;
    Access wanted() const noexcept { return access == os::FaultAccess::write ? Access::write : Access::read; }
    Fault fault() const noexcept { return {block, wanted(), address, program_counter}; }
  };
  virtual SignalVerdict on_segmentation_fault(const Touch& touch) noexcept = 0;
  virtual SignalVerdict on_bus_error(const Touch& touch) noexcept = 0;
  // Allows code to run in a segment for good, wherever its blocks are open, now or later. Result: false if
  // the system forbids it.
  virtual bool allow_code(const Segment& segment) noexcept = 0;
  // Whether allow_code() has succeeded.
  bool holds_code(const Segment& segment) const noexcept { return code_segments_.contains(segment); }

  // REQUIRES: the run is inside one mapped segment.
  const Segment& mapped_segment(BlockRun run) const noexcept;
  struct Range {
    std::uintptr_t begin;
    std::size_t bytes;
    void* pointer() const noexcept { return reinterpret_cast<void*>(begin); }
  };
  static Range range_of(const Segment& segment, BlockRun run) noexcept;
  static Range whole_pages(Range range) noexcept;

  SignalVerdict copy_block(const Segment& segment, BlockId block) noexcept;

  Views views_;
  CopySource* source_of_copy_ = nullptr;  // not null in a child made by fork
  FaultSink& sink_;
  std::atomic<std::uint64_t> reopened_{0};
  SegmentSet code_segments_{views_.space()};  // set by allow_code()

 private:
  SignalVerdict on_fetch(const Touch& touch) noexcept;
};

// A verdict of several drivers.
inline constexpr SignalVerdict no_memory_left{
    SignalVerdict::Kind::fatal,
    "in shared memory: no memory is left for it (`musubi doctor` shows the limits)"};

}  // namespace musubi::vm
