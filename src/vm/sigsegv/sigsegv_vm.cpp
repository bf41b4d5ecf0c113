#include "vm/sigsegv/sigsegv_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/thread_safety.h"

namespace musubi::vm {
namespace {

// A change between blocks of another access makes a border at both ends of the run.
constexpr std::size_t borders_of_one_change = 2;
constexpr std::size_t mappings_least = 8;

// The kernel's limit minus an eighth: malloc, threads and libraries of the program need mappings, too.
std::size_t mappings_allowed() {
  constexpr std::size_t kernel_default = 65530;
  std::size_t limit = 0;
  if (const int file = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC); file >= 0) {
    char text[32] = {};
    if (::read(file, text, sizeof text - 1) > 0) limit = std::strtoull(text, nullptr, 10);
    ::close(file);
  }
  if (limit == 0) limit = kernel_default;
  return limit - limit / 8;
}

}  // namespace

Result<std::unique_ptr<SigsegvVm>> SigsegvVm::create(const Space& space, int memory, FaultSink& sink,
                                                     Settings settings, trace::Counters& counters) {
  std::unique_ptr<SigsegvVm> vm(new SigsegvVm(space, sink, settings, counters));
  if (auto opened = vm->views_.open(memory); !opened) return opened.error();
  return vm;
}

SigsegvVm::SigsegvVm(const Space& space, FaultSink& sink, Settings settings, trace::Counters& counters)
    : PagedVm(space, sink),
      counters_(counters),
      table_(space),
      mappings_max_(std::max(settings.mappings_max != 0 ? settings.mappings_max : mappings_allowed(),
                             mappings_least)) {}

Result<void> SigsegvVm::map_segment(std::size_t index, Placement placement) {
  return views_.map_segment(index, placement);
}

Result<void> SigsegvVm::map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                                 Placement placement) {
  return views_.map_part(index, address, bytes, placement);
}

void SigsegvVm::open_read(BlockRun run) noexcept {
  open(run, Access::none, Access::read);
}
void SigsegvVm::open_write(BlockRun run) noexcept {
  open(run, Access::none, Access::write);
}
void SigsegvVm::upgrade(BlockRun run) noexcept {
  open(run, Access::read, Access::write);
}
void SigsegvVm::downgrade(BlockRun run) noexcept {
  restrict(run, Access::write, Access::read);
}
void SigsegvVm::close(BlockRun run) noexcept {
  restrict(run, Access::read, Access::none);
}

void SigsegvVm::open(BlockRun run, Access from, Access to) noexcept {
  const Segment& segment = mapped_segment(run);
  const Held hold(lock_);
  table_.grant(run, from, from, to);
  protect(segment, run, to);
}

void SigsegvVm::restrict(BlockRun run, Access from_least, Access to) noexcept {
  const Segment& segment = mapped_segment(run);
  const Held hold(lock_);
  table_.grant(run, from_least, Access::write, to);
  if (table_.most_applied(run) > to) protect(segment, run, to);
}

std::size_t SigsegvVm::mappings() const noexcept {
  const Held hold(lock_);
  return table_.borders() + static_cast<std::size_t>(views_.mapped_count()) + 1;
}

void SigsegvVm::protect(const Segment& segment, BlockRun run, Access to) noexcept {
  if (table_.borders() + borders_of_one_change > mappings_max_) {
    save_mappings(mappings_max_ - std::max(mappings_max_ / 64, borders_of_one_change));
  }
  for (int attempt = 0; !try_protect(segment, run, to); ++attempt) {
    MUSUBI_CHECK(
        attempt < 4,
        "mprotect of segment %s: no mapping is left (raise vm.max_map_count), or the program has unmapped "
        "shared memory",
        segment.name);
    // The program uses more mappings than its share: use fewer from now on.
    mappings_max_ = std::max(table_.borders() - table_.borders() / 16, mappings_least);
    save_mappings(attempt < 2 ? mappings_max_ - borders_of_one_change : 0);
  }
}

int SigsegvVm::protection(const Segment& segment, Access access) const noexcept {
  const int code = holds_code(segment) ? PROT_EXEC : 0;
  switch (access) {
    case Access::none:
      return PROT_NONE;
    case Access::read:
      return PROT_READ | code;
    case Access::write:
      return PROT_READ | PROT_WRITE | code;
  }
  __builtin_unreachable();
}

// All open blocks at once: the table would not count a border between executable and other blocks.
bool SigsegvVm::allow_code(const Segment& segment) noexcept {
  const Held hold(lock_);
  if (holds_code(segment)) return true;
  code_segments_.add(segment);
  const std::uint64_t end = segment.first_block.value + segment.blocks;
  for (std::uint64_t block = segment.first_block.value; block < end;) {
    const Access access = table_.applied(BlockId{block});
    BlockRun run{BlockId{block}};
    while (++block < end && table_.applied(BlockId{block}) == access) ++run.count;
    if (access == Access::none) continue;
    const Range range = range_of(segment, run);
    counters_.add(trace::Counter::protection_changes);
    if (::mprotect(range.pointer(), range.bytes, protection(segment, access)) != 0) {
      code_segments_.remove(segment);
      return false;
    }
  }
  return true;
}

bool SigsegvVm::try_protect(const Segment& segment, BlockRun run, Access to) noexcept {
  const Range range = range_of(segment, run);
  // The table never allows less than the pages, even if the kernel fails half-way: it is raised before the
  // call and lowered after it.
  const bool falls = table_.most_applied(run) > to;
  if (!falls) {
    table_.apply(segment, run, to);
  } else {
    for (std::uint64_t block = run.first.value; block < run.first.value + run.count; ++block) {
      if (table_.applied(BlockId{block}) < to) table_.apply(segment, BlockRun{BlockId{block}}, to);
    }
  }
  counters_.add(trace::Counter::protection_changes);
  if (::mprotect(range.pointer(), range.bytes, protection(segment, to)) != 0) {
    MUSUBI_CHECK(errno == ENOMEM, "mprotect of segment %s failed with errno %d", segment.name, errno);
    return false;
  }
  if (falls) table_.apply(segment, run, to);
  return true;
}

void SigsegvVm::make_uniform(std::uint64_t group, Access access) noexcept {
  const BlockRun run = table_.blocks_of(group);
  const Segment& segment = views_.space().segment_of(run.first);
  const std::uint64_t first = run.first.value - segment.first_block.value;
  // The part between may be memory that is not shared.
  if (segment.parts != nullptr && !segment.parts->contains_all(first, run.count)) return;
  try_protect(segment, run, access);  // on failure the borders stay, for another group to remove
}

// Makes groups uniform until at most `target` borders are left: first groups with many borders inside, at the
// least access granted to all their blocks, then any group; finally closes whole groups.
void SigsegvVm::save_mappings(std::size_t target) noexcept {
  const auto turn = [&](auto&& make_room) MUSUBI_REQUIRES(lock_) {
    for (std::uint64_t i = 0; i < table_.groups() && table_.borders() > target; ++i) {
      if (++next_group_ >= table_.groups()) next_group_ = 0;
      make_room(next_group_);
    }
  };
  for (const std::size_t borders_least : {AccessTable::group_blocks / 8, std::uint64_t{1}}) {
    turn([&](std::uint64_t group) MUSUBI_REQUIRES(lock_) {
      if (table_.borders_in(group) < borders_least) return;
      make_uniform(group, table_.least_granted(table_.blocks_of(group)));
    });
  }
  if (table_.borders() <= target) return;
  target /= 2;  // this search is slow: make it rare
  turn([&](std::uint64_t group) MUSUBI_REQUIRES(lock_) {
    if (table_.most_applied(table_.blocks_of(group)) != Access::none) make_uniform(group, Access::none);
  });
}

bool SigsegvVm::reopen(const Segment& segment, BlockId block, Access wanted) noexcept {
  const Held hold(lock_);
  const Access granted = table_.granted(block);
  if (granted < wanted) return false;
  if (table_.applied(block) >= wanted) {
    // Another thread has just opened it, or mprotect failed half-way while its group was made uniform.
    protect(segment, BlockRun{block}, granted);
    return true;
  }
  // Its group was made uniform. Opening its neighbours with the same access costs no further mapping.
  const BlockRun group = table_.blocks_of(table_.group_of(segment, block));
  std::uint64_t begin = block.value;
  std::uint64_t end = block.value + 1;
  while (begin > group.first.value && table_.granted(BlockId{begin - 1}) == granted) --begin;
  while (end < group.first.value + group.count && table_.granted(BlockId{end}) == granted) ++end;
  protect(segment, BlockRun{BlockId{begin}, end - begin}, granted);
  reopened_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

SignalVerdict SigsegvVm::on_segmentation_fault(const Touch& touch) noexcept {
  if (reopen(touch.segment, touch.block, touch.wanted()) || sink_.on_fault(touch.fault()))
    return {SignalVerdict::Kind::resolved};
  return {};
}

SignalVerdict SigsegvVm::on_bus_error(const Touch&) noexcept {
  return no_memory_left;
}

}  // namespace musubi::vm
