#include "vm/sigsegv/sigsegv_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <string>

#include "os/fault_context.h"

namespace musubi::vm {
namespace {

int protection(Access access) {
  switch (access) {
    case Access::none:
      return PROT_NONE;
    case Access::read:
      return PROT_READ;
    case Access::write:
      return PROT_READ | PROT_WRITE;
  }
  __builtin_unreachable();
}

// A change in the midst of blocks of another access makes a border at both ends of the run.
constexpr std::size_t borders_of_one_change = 2;
constexpr std::size_t mappings_least = 8;

// The kernel's limit less an eighth: malloc, threads and libraries of the program need mappings too.
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
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const Segment& segment : space.segments()) {
    if (segment.block_bytes % page != 0 || segment.base % page != 0 || segment.bytes % page != 0) {
      return Error{std::string("segment ") + segment.name +
                   " does not consist of whole pages; choose blocks of " + std::to_string(page) +
                   " bytes or more"};
    }
  }
  struct stat status {};
  if (::fstat(memory, &status) != 0 || static_cast<std::size_t>(status.st_size) < space.bytes()) {
    return Error{"the memory file of this rank holds less than " + std::to_string(space.bytes()) +
                 " bytes; make it as long as the space"};
  }
  std::unique_ptr<SigsegvVm> vm(new SigsegvVm(space, memory, sink, settings, counters));
  if (vm->memory_ < 0) return Error{std::string("no file descriptor left: ") + ::strerror(errno)};
  void* view =
      ::mmap(nullptr, vm->system_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
  if (view == MAP_FAILED) {
    return Error{"cannot map " + std::to_string(space.bytes()) + " bytes of shared memory (" +
                 ::strerror(errno) + "); lower the size of the heap or raise ulimit -v"};
  }
  ::madvise(view, vm->system_bytes_, MADV_DONTDUMP);  // a core file shows the user view; once is enough
  vm->system_view_ = static_cast<std::byte*>(view);
  for (const Segment& segment : space.segments()) {
    if (segment.huge_pages) ::madvise(vm->system_view_ + segment.offset, segment.bytes, MADV_HUGEPAGE);
  }
  return vm;
}

SigsegvVm::SigsegvVm(const Space& space, int memory, FaultSink& sink, Settings settings,
                     trace::Counters& counters)
    : space_(space),
      sink_(sink),
      counters_(counters),
      table_(space),
      mappings_max_(
          std::max(settings.mappings_max != 0 ? settings.mappings_max : mappings_allowed(), mappings_least)),
      system_bytes_(space.bytes()),
      memory_(::fcntl(memory, F_DUPFD_CLOEXEC, 0)) {}

SigsegvVm::~SigsegvVm() {
  for (std::size_t i = 0; i < space_.segments().size(); ++i) {
    const Segment& segment = space_.segments()[i];
    if (mapped_segments_ >> i & 1) ::munmap(reinterpret_cast<void*>(segment.base), segment.bytes);
  }
  if (system_view_ != nullptr) ::munmap(system_view_, system_bytes_);
  if (memory_ >= 0) ::close(memory_);
}

Result<void> SigsegvVm::map_segment(std::size_t index, Placement placement) {
  MUSUBI_CHECK(index < space_.segments().size() && (mapped_segments_ >> index & 1) == 0);
  const Segment& segment = space_.segments()[index];
  const int fixed = placement == Placement::replace ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  void* const wanted = reinterpret_cast<void*>(segment.base);
  void* const got = ::mmap(wanted, segment.bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | fixed, memory_,
                           static_cast<off_t>(segment.offset));
  if (got != wanted) {
    const int error = got == MAP_FAILED ? errno : EEXIST;
    if (got != MAP_FAILED) ::munmap(got, segment.bytes);  // a kernel before 4.17 takes the address as a hint
    return Error{std::string("cannot map segment ") + segment.name + " (" + ::strerror(error) +
                 "); lower its size, or move the shared space to addresses that are free on every rank"};
  }
  if (segment.huge_pages) ::madvise(got, segment.bytes, MADV_HUGEPAGE);
  mapped_segments_ |= std::uint32_t{1} << index;
  return {};
}

Result<void> SigsegvVm::leave_open(std::size_t index) {
  MUSUBI_CHECK(index < space_.segments().size() && (mapped_segments_ >> index & 1) != 0);
  const Segment& segment = space_.segments()[index];
  if (::mprotect(reinterpret_cast<void*>(segment.base), segment.bytes, protection(Access::write)) != 0) {
    return Error{std::string("cannot open segment ") + segment.name + " (" + ::strerror(errno) +
                 "); raise vm.max_map_count"};
  }
  open_segments_ |= 1u << index;
  return {};
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
  const std::lock_guard hold(lock_);
  table_.grant(run, from, from, to);
  protect(segment, run, to);
}

void SigsegvVm::restrict(BlockRun run, Access from_least, Access to) noexcept {
  const Segment& segment = mapped_segment(run);
  const std::lock_guard hold(lock_);
  table_.grant(run, from_least, Access::write, to);
  if (table_.most_applied(run) > to) protect(segment, run, to);
}

const Segment& SigsegvVm::mapped_segment(BlockRun run) const noexcept {
  MUSUBI_CHECK(run.count > 0);
  const Segment& segment = space_.segment_of(run.first);
  const std::size_t index = static_cast<std::size_t>(&segment - space_.segments().data());
  MUSUBI_CHECK(run.first.value + run.count <= segment.first_block.value + segment.blocks &&
                   (mapped_segments_ >> index & 1) != 0,
               "blocks %lu+%lu are not in one mapped segment", static_cast<unsigned long>(run.first.value),
               static_cast<unsigned long>(run.count));
  return segment;
}

std::size_t SigsegvVm::mappings() const noexcept {
  const std::lock_guard hold(lock_);
  return table_.borders() + static_cast<std::size_t>(std::popcount(mapped_segments_)) + 1;
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
    // The program uses more mappings than its share: live with fewer for good.
    mappings_max_ = std::max(table_.borders() - table_.borders() / 16, mappings_least);
    save_mappings(attempt < 2 ? mappings_max_ - borders_of_one_change : 0);
  }
}

bool SigsegvVm::try_protect(const Segment& segment, BlockRun run, Access to) noexcept {
  const std::uint64_t index = run.first.value - segment.first_block.value;
  const std::size_t begin = index * segment.block_bytes;
  const std::size_t bytes = std::min(run.count * segment.block_bytes, segment.bytes - begin);
  // The table says at least what the pages allow, also when the kernel gives up half-way: it rises before the
  // call and falls after it.
  const bool falls = table_.most_applied(run) > to;
  if (!falls) {
    table_.apply(segment, run, to);
  } else {
    for (std::uint64_t block = run.first.value; block < run.first.value + run.count; ++block) {
      if (table_.applied(BlockId{block}) < to) table_.apply(segment, BlockRun{BlockId{block}}, to);
    }
  }
  counters_.add(trace::Counter::protection_changes);
  if (::mprotect(reinterpret_cast<void*>(segment.base + begin), bytes, protection(to)) != 0) {
    MUSUBI_CHECK(errno == ENOMEM, "mprotect of segment %s failed with errno %d", segment.name, errno);
    return false;
  }
  if (falls) table_.apply(segment, run, to);
  return true;
}

void SigsegvVm::make_uniform(std::uint64_t group, Access access) noexcept {
  const BlockRun run = table_.blocks_of(group);
  try_protect(space_.segment_of(run.first), run, access);  // a failure leaves the borders for another group
}

// Makes groups uniform until at most `target` borders are left: first groups with many borders inside, at the
// least access that all their blocks are granted, then any; at last whole groups are closed.
void SigsegvVm::save_mappings(std::size_t target) noexcept {
  const auto turn = [&](auto&& make_room) {
    for (std::uint64_t i = 0; i < table_.groups() && table_.borders() > target; ++i) {
      if (++next_group_ >= table_.groups()) next_group_ = 0;
      make_room(next_group_);
    }
  };
  for (const std::size_t borders_least : {AccessTable::group_blocks / 8, std::uint64_t{1}}) {
    turn([&](std::uint64_t group) {
      if (table_.borders_in(group) < borders_least) return;
      make_uniform(group, table_.least_granted(table_.blocks_of(group)));
    });
  }
  if (table_.borders() <= target) return;
  target /= 2;  // this search is long: let it not be needed again soon
  turn([&](std::uint64_t group) {
    if (table_.most_applied(table_.blocks_of(group)) != Access::none) make_uniform(group, Access::none);
  });
}

bool SigsegvVm::reopen(const Segment& segment, BlockId block, Access wanted) noexcept {
  const std::lock_guard hold(lock_);
  const Access granted = table_.granted(block);
  if (granted < wanted) return false;
  if (table_.applied(block) >= wanted) {
    // Another thread has opened it a moment ago. Or mprotect gave up half-way while making its group uniform.
    protect(segment, BlockRun{block}, granted);
    return true;
  }
  // Its group was made uniform. The neighbours with the same access cost no further mapping.
  const BlockRun group = table_.blocks_of(table_.group_of(segment, block));
  std::uint64_t begin = block.value;
  std::uint64_t end = block.value + 1;
  while (begin > group.first.value && table_.granted(BlockId{begin - 1}) == granted) --begin;
  while (end < group.first.value + group.count && table_.granted(BlockId{end}) == granted) ++end;
  protect(segment, BlockRun{BlockId{begin}, end - begin}, granted);
  reopened_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

SignalVerdict SigsegvVm::on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept {
  using Kind = SignalVerdict::Kind;
  if (information.si_code <= 0 || information.si_code == SI_KERNEL)
    return {};  // sent, or no address is known
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(information.si_addr);
  if (address - reinterpret_cast<std::uintptr_t>(system_view_) < system_bytes_) {
    return {Kind::fatal,
            "in the runtime's own view of shared memory: the machine has no memory left, or this is "
            "a bug of Musubi"};
  }
  const Segment* segment = space_.segment_at(address);
  if (segment == nullptr) return {};
  if ((mapped_segments_ >> (segment - space_.segments().data()) & 1) == 0) return {};
  if ((open_segments_ >> (segment - space_.segments().data()) & 1) != 0 && signal != SIGBUS) return {};
  if (signal == SIGBUS)
    return {Kind::fatal, "in shared memory: no memory is left for it (`musubi doctor` shows the limits)"};
  if (information.si_code == SEGV_MAPERR)
    return {Kind::foreign, "shared memory that the program has unmapped"};
  const os::FaultAccess access = os::fault_context(context).access;
  if (access == os::FaultAccess::execute) return {Kind::foreign, "shared memory holds no code"};

  const Access wanted = access == os::FaultAccess::write ? Access::write : Access::read;
  const BlockId block{segment->first_block.value + (address - segment->base) / segment->block_bytes};
  if (reopen(*segment, block, wanted) || sink_.on_fault(block, wanted)) return {Kind::resolved};
  return {};
}

}  // namespace musubi::vm
