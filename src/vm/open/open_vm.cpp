#include "vm/open/open_vm.h"

#include <sys/mman.h>

#include "base/check.h"

namespace musubi::vm {

Result<std::unique_ptr<OpenVm>> OpenVm::create(const Space& space, int memory, FaultSink& sink) {
  std::unique_ptr<OpenVm> vm(new OpenVm(space, sink));
  if (auto opened = vm->views_.open(memory); !opened) return opened.error();
  return vm;
}

Result<void> OpenVm::map_segment(std::size_t index, Placement placement) {
  if (auto mapped = views_.map_segment(index, placement); !mapped) return mapped;
  const Segment& segment = views_.space().segments()[index];
  if (segment.holds_stacks) return {};
  return open_pages(segment, segment.base, segment.bytes);
}

Result<void> OpenVm::map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                              Placement placement) {
  if (auto mapped = views_.map_part(index, address, bytes, placement); !mapped) return mapped;
  return open_pages(views_.space().segments()[index], address, bytes);
}

Result<void> OpenVm::open_pages(const Segment& segment, std::uintptr_t address, std::size_t bytes) noexcept {
  void* const begin = reinterpret_cast<void*>(address);
  if (!holds_code(segment)) return os::protect(begin, bytes, os::Protection::read_write);
  if (::mprotect(begin, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) return {};
  return Error{"the system allows no code in shared memory (a security policy like SELinux?)"};
}

void OpenVm::leave_open(BlockRun run) noexcept {
  const Segment& segment = mapped_segment(run);
  const Range range = range_of(segment, run);
  MUSUBI_CHECK(open_pages(segment, range.begin, range.bytes).ok(),
               "no mapping is left for a stack (raise vm.max_map_count)");
}

void OpenVm::downgrade(BlockRun) noexcept {
  MUSUBI_CHECK(false, "memory of all ranks is never closed");
}

void OpenVm::close(BlockRun) noexcept {
  MUSUBI_CHECK(false, "memory of all ranks is never closed");
}

SignalVerdict OpenVm::on_segmentation_fault(const Touch& touch) noexcept {
  // Code may run there by now, and this page does not know it yet.
  if (touch.access == os::FaultAccess::execute) {
    const Range range = range_of(touch.segment, {touch.block, 1});
    if (!open_pages(touch.segment, range.begin, range.bytes)) return {};
    return {SignalVerdict::Kind::resolved};
  }
  // Outside of stacks the program has taken its own right away by mprotect.
  if (!touch.segment.holds_stacks || !sink_.on_fault(touch.fault())) return {};
  return {SignalVerdict::Kind::resolved};
}

// Where closed blocks or pages of others lie in between, each block learns of it when code there first runs.
bool OpenVm::allow_code(const Segment& segment) noexcept {
  if (code_segments_.add(segment) || segment.holds_stacks || segment.parts != nullptr) return true;
  if (open_pages(segment, segment.base, segment.bytes)) return true;
  code_segments_.remove(segment);
  return false;
}

}  // namespace musubi::vm
