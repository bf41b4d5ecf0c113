#include "vm/paged/paged_vm.h"

#include <signal.h>

#include <algorithm>

#include "os/cpu.h"

namespace musubi::vm {

SignalVerdict PagedVm::on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept {
  using Kind = SignalVerdict::Kind;
  if (information.si_code <= 0 || information.si_code == SI_KERNEL)
    return {};  // sent by a process, or without a known address
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(information.si_addr);
  if (views_.system_covers(address)) {
    return {Kind::fatal,
            "in the runtime's own view of shared memory: the machine has no memory left, or this is "
            "a bug of Musubi"};
  }
  const Segment* segment = views_.space().segment_at(address);
  if (segment == nullptr || !views_.is_mapped(*segment)) return {};
  if (views_.is_left_open(*segment)) {
    return signal == SIGBUS && views_.shows_memory_file(*segment) ? no_memory_left : SignalVerdict{};
  }
  const BlockId block{segment->first_block.value + (address - segment->base) / segment->block_bytes};
  if (source_of_copy_ != nullptr) return copy_block(*segment, block);
  const os::FaultContext fault = os::fault_context(context);
  const Touch touch{*segment, block, fault.access, information.si_code, address, fault.program_counter};
  if (signal == SIGBUS) return on_bus_error(touch);
  if (touch.code == SEGV_MAPERR) return {Kind::foreign, "shared memory that the program has unmapped"};
  if (touch.access == os::FaultAccess::execute) return on_fetch(touch);
  return on_segmentation_fault(touch);
}

Result<void> PagedVm::become_copy(CopySource& source) {
  if (auto mapped = views_.map_copies(); !mapped) return mapped;
  source_of_copy_ = &source;
  return {};
}

SignalVerdict PagedVm::copy_block(const Segment& segment, BlockId block) noexcept {
  using Kind = SignalVerdict::Kind;
  const Range range = whole_pages(range_of(segment, {block, 1}));
  if (!source_of_copy_->open(range.begin, range.bytes)) {
    return {Kind::fatal, "in memory of the parent, which goes on: after fork, start another program at once"};
  }
  if (!os::protect(range.pointer(), range.bytes, os::Protection::read_write)) return no_memory_left;
  // Copy now, while the parent's thread waits: the child must not see later writes of the parent's job.
  for (std::size_t offset = 0; offset < range.bytes; offset += os::page_bytes()) {
    os::touch_for_writing(reinterpret_cast<volatile unsigned char*>(range.begin + offset));
  }
  return {Kind::resolved};
}

// An instruction fetch. The whole job gets the permission to run code in a segment, while it runs, so this
// rank learns of it at its first fetch.
SignalVerdict PagedVm::on_fetch(const Touch& touch) noexcept {
  using Kind = SignalVerdict::Kind;
  if (holds_code(touch.segment)) return on_segmentation_fault(touch);
  if (!sink_.may_execute(touch.block)) {
    return {Kind::foreign, "shared memory holds no code unless it is asked for (mprotect with PROT_EXEC)"};
  }
  if (!allow_code(touch.segment)) {
    return {Kind::fatal, "the system allows no code in shared memory (a security policy like SELinux?)"};
  }
  return {Kind::resolved};
}

const Segment& PagedVm::mapped_segment(BlockRun run) const noexcept {
  MUSUBI_CHECK(run.count > 0);
  const Segment& segment = views_.space().segment_of(run.first);
  MUSUBI_CHECK(
      run.first.value + run.count <= segment.first_block.value + segment.blocks && views_.is_mapped(segment),
      "blocks %lu+%lu are not in one mapped segment", static_cast<unsigned long>(run.first.value),
      static_cast<unsigned long>(run.count));
  return segment;
}

PagedVm::Range PagedVm::range_of(const Segment& segment, BlockRun run) noexcept {
  const std::size_t begin = (run.first.value - segment.first_block.value) * segment.block_bytes;
  return {segment.base + begin, std::min(run.count * segment.block_bytes, segment.bytes - begin)};
}

// Of unprotected segments a block may be a part of a page.
PagedVm::Range PagedVm::whole_pages(Range range) noexcept {
  const std::size_t page = os::page_bytes();
  const std::uintptr_t begin = range.begin / page * page;
  const std::uintptr_t end = (range.begin + range.bytes + page - 1) / page * page;
  return {begin, end - begin};
}

}  // namespace musubi::vm
