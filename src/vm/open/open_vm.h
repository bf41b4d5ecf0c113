// Stand-in for a driver of the vm port where no protocol works: all ranks map one memory, and the processors
// keep it coherent (docs/decisions/one_memory.md). Segments are open from the start, but for stacks: a block
// of these opens when its owner pins it, or when another rank first touches it, so that guards stay closed.
// Nothing is ever closed, and no table is kept.
#pragma once

#include <memory>

#include "vm/paged/paged_vm.h"

namespace musubi::vm {

class OpenVm final : public PagedVm {
 public:
  // As SigsegvVm::create; `memory` is the memory of all ranks. `sink` hears of touches of closed stack blocks
  // alone.
  static Result<std::unique_ptr<OpenVm>> create(const Space& space, int memory, FaultSink& sink);

  Result<void> map_segment(std::size_t index, Placement placement) override;
  Result<void> map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                        Placement placement) override;

  // Blocks of stacks, any number of times.
  void open_read(BlockRun run) noexcept override { leave_open(run); }
  void open_write(BlockRun run) noexcept override { leave_open(run); }
  void upgrade(BlockRun run) noexcept override { leave_open(run); }
  void leave_open(BlockRun run) noexcept override;
  void downgrade(BlockRun run) noexcept override;
  void close(BlockRun run) noexcept override;

 private:
  OpenVm(const Space& space, FaultSink& sink) noexcept : PagedVm(space, sink) {}

  SignalVerdict on_segmentation_fault(const Touch& touch) noexcept override;
  SignalVerdict on_bus_error(const Touch& touch) noexcept override { return (void)touch, no_memory_left; }
  bool allow_code(const Segment& segment) noexcept override;
  Result<void> open_pages(const Segment& segment, std::uintptr_t address, std::size_t bytes) noexcept;
};

}  // namespace musubi::vm
