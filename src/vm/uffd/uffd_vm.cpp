#include "vm/uffd/uffd_vm.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "os/cpu.h"

namespace musubi::vm {
namespace {

// Waits while a holder has the cell.
template <class Cell, class Change>
void change_when_free(std::atomic_ref<Cell> cell, Cell held, Change&& changed) {
  Cell now = cell.load(std::memory_order_relaxed);
  for (;;) {
    if ((now & held) != 0) {
      ::sched_yield();  // the holder is inside the kernel
      now = cell.load(std::memory_order_relaxed);
    } else if (cell.compare_exchange_weak(now, changed(now), std::memory_order_acq_rel)) {
      return;
    }
  }
}

}  // namespace

Result<std::unique_ptr<UffdVm>> UffdVm::create(const Space& space, int memory, FaultSink& sink,
                                               trace::Counters& counters) {
  auto file = os::FaultFile::open();
  if (!file) return file.error();
  std::unique_ptr<UffdVm> vm(new UffdVm(space, std::move(file).value(), sink, counters));
  if (auto opened = vm->views_.open(memory); !opened) return opened.error();
  return vm;
}

Result<void> UffdVm::map_segment(std::size_t index, Placement placement) {
  if (auto mapped = views_.map_segment(index, placement); !mapped) return mapped;
  const Segment& segment = views_.space().segments()[index];
  if (segment.unprotected) return {};
  return watch(segment, segment.base, segment.bytes);
}

Result<void> UffdVm::map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                              Placement placement) {
  if (auto mapped = views_.map_part(index, address, bytes, placement); !mapped) return mapped;
  return watch(views_.space().segments()[index], address, bytes);
}

// No access until it is watched: an earlier touch by another thread would map the page unwatched.
Result<void> UffdVm::watch(const Segment& segment, std::uintptr_t begin, std::size_t bytes) {
  void* const address = reinterpret_cast<void*>(begin);
  if (auto watched = file_.watch(address, bytes); !watched) return watched;
  // A child would inherit the mapping, but not the watch: it would read stale bytes unnoticed.
  ::madvise(address, bytes, MADV_DONTFORK);
  if (auto opened = os::protect(address, bytes, os::Protection::read_write); !opened) return opened;
  watched_segments_.add(segment);
  return {};
}

void UffdVm::open_read(BlockRun run) noexcept {
  open(run, Access::read);
}
void UffdVm::open_write(BlockRun run) noexcept {
  open(run, Access::write);
}

void UffdVm::open(BlockRun run, Access to) noexcept {
  const Segment& segment = mapped_segment(run);
  table_.grant(run, Access::none, Access::none, to);
  map_pages(segment, run, to);
}

void UffdVm::upgrade(BlockRun run) noexcept {
  const Segment& segment = mapped_segment(run);
  table_.grant(run, Access::read, Access::read, Access::write);
  set_writable(segment, run, true);
}

void UffdVm::downgrade(BlockRun run) noexcept {
  const Segment& segment = mapped_segment(run);
  table_.grant(run, Access::write, Access::write, Access::read);
  set_writable(segment, run, false);
}

void UffdVm::close(BlockRun run) noexcept {
  const Segment& segment = mapped_segment(run);
  table_.grant(run, Access::read, Access::write, Access::none);
  const Range range = range_of(segment, run);
  counters_.add(trace::Counter::protection_changes);
  check(os::FaultFile::unmap(range.pointer(), range.bytes), segment, "unmap");
}

void UffdVm::leave_open(BlockRun run) noexcept {
  const Segment& segment = mapped_segment(run);
  table_.leave_open(run);
  const Range range = range_of(segment, run);
  counters_.add(trace::Counter::protection_changes);
  check(file_.leave_alone(range.pointer(), range.bytes), segment, "leave alone pages");
  ::madvise(range.pointer(), range.bytes, MADV_DOFORK);
}

void UffdVm::map_pages(const Segment& segment, BlockRun run, Access access) noexcept {
  const Range range = range_of(segment, run);
  const std::size_t page = os::page_bytes();
  std::byte* const filled = views_.system() + segment.offset + (range.begin - segment.base);
  for (std::size_t done = 0; done < range.bytes;) {
    counters_.add(trace::Counter::protection_changes);
    const os::FaultFile::Mapped mapped =
        file_.map(reinterpret_cast<void*>(range.begin + done), range.bytes - done, access == Access::write);
    done += mapped.bytes;
    if (mapped.error == EEXIST) {  // another thread, which found the access granted, was first
      done += page;
    } else if (mapped.error == EFAULT) {  // no thread has touched this page yet, so hardly those after it
      for (std::size_t at = done; at < range.bytes; at += page) {
        os::touch_for_reading(reinterpret_cast<const unsigned char*>(filled + at));
      }
    } else {
      check(mapped.error, segment, "map pages");
    }
  }
}

void UffdVm::set_writable(const Segment& segment, BlockRun run, bool writable) noexcept {
  const Range range = range_of(segment, run);
  counters_.add(trace::Counter::protection_changes);
  check(file_.set_writable(range.pointer(), range.bytes, writable), segment, "change the protection");
}

void UffdVm::check(int error, const Segment& segment, const char* operation) const noexcept {
  MUSUBI_CHECK(
      error == 0,
      "userfaultfd could not %s of segment %s (errno %d): the program has unmapped shared memory, or "
      "closed a file that it did not open",
      operation, segment.name, error);
}

bool UffdVm::reopen(const Segment& segment, BlockId block, Access wanted) noexcept {
  const std::optional<Access> granted = table_.hold(block, wanted);
  if (!granted) return false;
  reopened_.fetch_add(1, std::memory_order_relaxed);
  // A missing page may have been write-protected when the kernel took it.
  if (*granted == Access::write) set_writable(segment, {block}, true);
  map_pages(segment, {block}, *granted);
  table_.release(block);
  return true;
}

SignalVerdict UffdVm::on_bus_error(const Touch& touch) noexcept {
  using Kind = SignalVerdict::Kind;
  if (touch.code != BUS_ADRERR) return {Kind::foreign, "in shared memory"};
  if (table_.is_left_open(touch.block)) return no_memory_left;
  if (reopen(touch.segment, touch.block, touch.wanted()) || sink_.on_fault(touch.fault()))
    return {Kind::resolved};
  return {Kind::foreign, nullptr, true};
}

SignalVerdict UffdVm::on_segmentation_fault(const Touch& touch) noexcept {
  using Kind = SignalVerdict::Kind;
  const bool by_fetch = touch.access == os::FaultAccess::execute;  // code may be allowed there by now
  if (!by_fetch && watched_segments_.contains(touch.segment))
    return {Kind::foreign, "shared memory whose protection the program has changed"};
  ::sched_yield();  // map_segment is in progress
  return {Kind::resolved};
}

// userfaultfd sets the access of pages; this sets the access of the whole mapping.
bool UffdVm::allow_code(const Segment& segment) noexcept {
  counters_.add(trace::Counter::protection_changes);
  if (::mprotect(reinterpret_cast<void*>(segment.base), segment.bytes, PROT_READ | PROT_WRITE | PROT_EXEC) !=
      0)
    return false;
  code_segments_.add(segment);
  return true;
}

void GrantTable::change(BlockRun run, Access from_least, Access from_most, Cell to) noexcept {
  for (std::uint64_t block = run.first.value; block < run.first.value + run.count; ++block) {
    change_when_free(cell(BlockId{block}), held, [&](Cell now) {
      MUSUBI_CHECK(static_cast<Cell>(from_least) <= now && now <= static_cast<Cell>(from_most),
                   "block %lu has access %d and was to be given %d", static_cast<unsigned long>(block), now,
                   to);
      return to;
    });
  }
}

void GrantTable::grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept {
  change(run, from_least, from_most, static_cast<Cell>(to));
}

void GrantTable::leave_open(BlockRun run) noexcept {
  change(run, Access::none, Access::none, left_open);
}

bool GrantTable::is_left_open(BlockId block) const noexcept {
  return cell(block).load(std::memory_order_relaxed) == left_open;
}

std::optional<Access> GrantTable::hold(BlockId block, Access wanted) noexcept {
  const auto here = cell(block);
  Cell now = here.load(std::memory_order_relaxed);
  for (;;) {
    const Cell granted = now & static_cast<Cell>(~held);
    if (granted == left_open || granted < static_cast<Cell>(wanted)) return std::nullopt;
    if ((now & held) != 0) {
      ::sched_yield();
      now = here.load(std::memory_order_relaxed);
    } else if (here.compare_exchange_weak(now, now | held, std::memory_order_acq_rel)) {
      return static_cast<Access>(granted);
    }
  }
}

void GrantTable::release(BlockId block) noexcept {
  cell(block).fetch_and(static_cast<Cell>(~held), std::memory_order_release);
}

}  // namespace musubi::vm
