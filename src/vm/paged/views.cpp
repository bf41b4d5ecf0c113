#include "vm/paged/views.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <string>

#include "base/cause.h"

namespace musubi::vm {

Result<void> Views::open(int memory) {
  const std::size_t page = os::page_bytes();
  for (const Segment& segment : space_.segments()) {
    const bool has_whole_blocks = segment.unprotected || segment.block_bytes % page == 0;
    if (!has_whole_blocks || segment.base % page != 0 || segment.bytes % page != 0) {
      return Error{std::string("segment ") + segment.name +
                   " does not consist of whole pages; choose blocks of " + std::to_string(page) +
                   " bytes or more"};
    }
  }
  struct stat status {};
  if (::fstat(memory, &status) != 0 || static_cast<std::size_t>(status.st_size) < space_.bytes_max()) {
    return Error{"the memory file of this rank holds less than " + std::to_string(space_.bytes_max()) +
                 " bytes; make it as long as the space"};
  }
  memory_ = os::FileDescriptor(::fcntl(memory, F_DUPFD_CLOEXEC, 0));
  if (memory_.number() < 0) return Error{"no file descriptor left: " + cause_of(errno)};
  auto mapped = os::Mapping::anywhere(space_.bytes_max(), os::Protection::read_write, {memory, 0});
  if (!mapped) return Error{mapped.error().message + ", or lower heap_bytes or stack_bytes"};
  system_ = std::move(mapped).value();
  // A core file already has these bytes in the user view.
  ::madvise(system_.data(), system_.bytes(), MADV_DONTDUMP);
  for (const Segment& segment : space_.segments()) {
    if (segment.huge_pages) system_.prefer_huge_pages(segment.offset, segment.bytes);
  }
  return {};
}

Views::~Views() {
  for (const Segment& segment : space_.segments()) {
    if (is_mapped(segment) && segment.parts == nullptr)
      ::munmap(reinterpret_cast<void*>(segment.base), segment.bytes);
  }
}

Result<void> Views::map_segment(std::size_t index, Placement placement) {
  MUSUBI_CHECK(index < space_.segments().size());
  const Segment& segment = space_.segments()[index];
  MUSUBI_CHECK(!is_mapped(segment) && segment.parts == nullptr, "segment %s is mapped already", segment.name);
  if (auto mapped = map(segment, segment.base, segment.bytes, placement); !mapped || !segment.unprotected)
    return mapped;
  // A child would write to the rank's own memory.
  ::madvise(reinterpret_cast<void*>(segment.base), segment.bytes, MADV_DONTFORK);
  return leave_open(index, Backing::memory_file);
}

Result<void> Views::map_part(std::size_t index, std::uintptr_t address, std::size_t bytes,
                             Placement placement) {
  MUSUBI_CHECK(index < space_.segments().size());
  const Segment& segment = space_.segments()[index];
  MUSUBI_CHECK(segment.parts != nullptr && address - segment.base <= segment.bytes - bytes,
               "a part outside of segment %s", segment.name);
  const std::uint64_t first = (address - segment.base) / segment.block_bytes;
  segment.parts->add(first, bytes / segment.block_bytes);
  mapped_parts_.fetch_add(1, std::memory_order_relaxed);
  return map(segment, address, bytes, placement);
}

Result<void> Views::map(const Segment& segment, std::uintptr_t address, std::size_t bytes,
                        Placement placement) {
  const int fixed = placement == Placement::replace ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  void* const wanted = reinterpret_cast<void*>(address);
  const std::size_t offset = segment.offset + (address - segment.base);
  // Before the mapping: another thread may fault there at once.
  const bool was_mapped = mapped_segments_.add(segment);
  void* const got = ::mmap(wanted, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | fixed, memory_.number(),
                           static_cast<off_t>(offset));
  if (got != wanted) {
    const int error = got == MAP_FAILED ? errno : EEXIST;
    if (!was_mapped) mapped_segments_.remove(segment);
    if (got != MAP_FAILED) ::munmap(got, bytes);  // a kernel before 4.17 takes the address as a hint
    return Error{std::string("cannot map segment ") + segment.name + " (" + ::strerror(error) +
                 "); lower its size, or move the shared space to addresses that are free on every rank"};
  }
  if (segment.huge_pages) ::madvise(got, bytes, MADV_HUGEPAGE);
  return {};
}

Result<void> Views::leave_open(std::size_t index, Backing backing) {
  MUSUBI_CHECK(index < space_.segments().size());
  const Segment& segment = space_.segments()[index];
  MUSUBI_CHECK(is_mapped(segment), "segment %s is not mapped yet", segment.name);
  if (backing == Backing::memory_file) {
    if (auto opened =
            os::protect(reinterpret_cast<void*>(segment.base), segment.bytes, os::Protection::read_write);
        !opened)
      return opened;
    open_segments_.add(segment);
    return {};
  }
  // Not the memory file: most systems give huge pages to anonymous memory, few give them to files.
  void* const base = reinterpret_cast<void*>(segment.base);
  if (::mmap(base, segment.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != base) {
    return Error{std::string("cannot open segment ") + segment.name + " (" + ::strerror(errno) +
                 "); lower its size or raise ulimit -v"};
  }
  if (segment.huge_pages) ::madvise(base, segment.bytes, MADV_HUGEPAGE);
  own_segments_.add(segment);
  open_segments_.add(segment);
  return {};
}

Result<void> Views::map_copies() {
  for (const Segment& segment : space_.segments()) {
    if (!is_mapped(segment) || (is_left_open(segment) && !segment.unprotected)) continue;
    void* const base = reinterpret_cast<void*>(segment.base);
    if (::mmap(base, segment.bytes, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, memory_.number(),
               static_cast<off_t>(segment.offset)) != base) {
      return Error{std::string("cannot copy segment ") + segment.name + " (" + ::strerror(errno) +
                   "); raise the limits on address space (ulimit -v)"};
    }
    open_segments_.remove(segment);
  }
  return {};
}

int Views::mapped_count() const noexcept {
  return mapped_segments_.size() + mapped_parts_.load(std::memory_order_relaxed);
}

}  // namespace musubi::vm
