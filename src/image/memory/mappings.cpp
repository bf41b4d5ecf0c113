#include "image/memory/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "image/process/call_result.h"
#include "image/process/refusal.h"
#include "os/mapping_calls.h"
#include "os/memory.h"

namespace musubi::image {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}
std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = os::page_bytes();
  return (bytes + page - 1) & ~(page - 1);
}
void* map_failed(int error) {
  errno = error;
  return MAP_FAILED;
}
void* map_plainly(const MapRequest& request) {
  return os::map_pages(request.wanted, request.bytes, request.protection, request.flags, request.file,
                       request.offset);
}
std::size_t alignment_of(const MapRequest& request) {
  return (request.flags & MAP_HUGETLB) != 0 ? huge_page_bytes : os::page_bytes();
}

}  // namespace

Mappings::Mappings(runtime::Runtime& runtime, heap::Heap& own_heap, heap::MappedMemory& own,
                   heap::HeapMessages& messages)
    : runtime_(runtime), heap_(own_heap), own_(own), messages_(messages), files_(runtime), break_(runtime) {
  calls_.start(runtime, procedures::kept_mapping, *this);
}

void* Mappings::map(const MapRequest& given) noexcept {
  MapRequest request = given;
  request.bytes = whole_pages(given.bytes);
  const int type = given.flags & MAP_TYPE;
  const bool is_sound = given.bytes != 0 && request.bytes != 0 &&
                        given.offset % static_cast<off_t>(os::page_bytes()) == 0 && type >= MAP_SHARED &&
                        type <= MAP_SHARED_VALIDATE &&
                        (!is_fixed(given) || number(given.wanted) % os::page_bytes() == 0);
  if (!is_sound) return map_plainly(given);  // the kernel reports the error
  if ((request.flags & MAP_32BIT) != 0) {
    report_refused_call("mmap with MAP_32BIT was refused, because shared memory lies at high addresses",
                        "leave MAP_32BIT out, or run with one rank");
    return map_failed(ENOMEM);
  }
  return is_fixed(request) ? map_fixed(request) : map_at_will(request);
}

void* Mappings::map_at_will(const MapRequest& request) noexcept {
  switch (kind_of(request)) {
    case MapKind::anonymous:
      return map_pages(request);
    case MapKind::file:
      if (is_copied(request)) {
        void* const memory = map_pages(request);
        if (memory == MAP_FAILED || fill(memory, request)) return memory;
        own_.unmap(number(memory), request.bytes);
        return MAP_FAILED;
      }
      if (has_other_hosts()) {
        report_refused_call("mmap of a file with MAP_SHARED was refused: hosts do not share its pages",
                            "open it for reading only, map it with MAP_PRIVATE, or use pread and pwrite");
        return map_failed(ENODEV);
      }
      return files_.map(request, alignment_of(request));
    case MapKind::of_this_process:
      return files_.map_here(request);
  }
  return map_failed(EINVAL);
}

// Whether the mapping is shared memory filled with a copy of the file. Over several hosts this includes
// mappings that are only read: another host may have another file of that name, or none.
bool Mappings::is_copied(const MapRequest& request) const noexcept {
  if (is_private(request)) return (request.protection & PROT_WRITE) != 0 || has_other_hosts();
  return has_other_hosts() && (::fcntl(request.file, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

// Uninitialised memory of the shared heap.
void* Mappings::take_pages(const MapRequest& request) noexcept {
  void* const memory = own_.map(request.bytes, alignment_of(request));
  if (memory == nullptr) {
    const std::string reason = "mmap of " + std::to_string(request.bytes >> 20) +
                               " MiB was refused: it does not fit into this rank's part of the shared heap";
    report_refused_call(reason,
                        "raise heap_bytes (--set heap_bytes=...), also for address space that is "
                        "only reserved");
    return map_failed(ENOMEM);
  }
  allow_code(memory, request.protection);
  return memory;
}

void* Mappings::map_pages(const MapRequest& request) noexcept {
  void* const memory = take_pages(request);
  if (memory != MAP_FAILED) runtime_.memory().store_zeros(memory, request.bytes);
  return memory;
}

bool Mappings::fill(void* memory, const MapRequest& request) noexcept {
  void* const source =
      os::map_pages(nullptr, request.bytes, PROT_READ, MAP_PRIVATE, request.file, request.offset);
  if (source == MAP_FAILED) return errno == EBADF && fill_from_afar(memory, request);
  struct stat status {};
  ::fstat(request.file, &status);
  const off_t left = std::max<off_t>(status.st_size - request.offset, 0);
  std::memcpy(memory, source, std::min(static_cast<std::size_t>(left), request.bytes));
  os::unmap_pages(source, request.bytes);
  return true;
}

// For a file that a rank of another host has open.
bool Mappings::fill_from_afar(void* memory, const MapRequest& request) noexcept {
  std::size_t done = 0;
  while (done < request.bytes) {
    const ssize_t got = ::pread(request.file, static_cast<char*>(memory) + done, request.bytes - done,
                                request.offset + static_cast<off_t>(done));
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

void* Mappings::map_fixed(const MapRequest& request) noexcept {
  if (is_shared(request.wanted)) return map_over_shared(request);
  const MapKind kind = kind_of(request);
  const bool is_over_file = files_.covers(request.wanted);
  const bool is_read_file = kind == MapKind::file && !has_other_hosts() &&
                            (!is_private(request) || (request.protection & PROT_WRITE) == 0);
  if (is_read_file && is_over_file) return files_.map(request, os::page_bytes());
  if (!is_over_file) {
    // An address that only this process uses may be mapped plainly.
    void* const free_place = os::map_pages(request.wanted, request.bytes, PROT_NONE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (free_place == MAP_FAILED) return map_plainly(request);
    os::unmap_pages(free_place, request.bytes);
    if (is_read_file) return files_.map(request, os::page_bytes());
    if (kind == MapKind::of_this_process) return map_plainly(request);
  }
  report_refused_call("mmap with MAP_FIXED was refused: all ranks cannot share memory there",
                      "leave the address to mmap, or map over part of an earlier mapping");
  return map_failed(ENOMEM);
}

void* Mappings::map_over_shared(const MapRequest& request) noexcept {
  if ((request.flags & MAP_FIXED_NOREPLACE) != 0) return map_failed(EEXIST);
  const MapKind kind = kind_of(request);
  if (kind == MapKind::of_this_process || (kind == MapKind::file && !is_private(request))) {
    report_refused_call("mmap with MAP_FIXED of a shared file or a device over shared memory was refused",
                        "leave the address to mmap");
    return map_failed(EINVAL);
  }
  const std::uintptr_t begin = number(request.wanted);
  if (heap_.is_own(request.wanted)) {
    own_.use_again(begin, request.bytes);
  } else if (heap_.is_shared(request.wanted)) {
    calls_.at<&Mappings::keep>(heap_.owner_of(request.wanted), begin);
  }
  runtime_.memory().store_zeros(request.wanted, request.bytes);
  if (kind == MapKind::file && !fill(request.wanted, request)) return MAP_FAILED;
  allow_code(request.wanted, request.protection);
  return request.wanted;
}

// Shared memory stays accessible to other ranks: of the protections only PROT_EXEC has an effect.
void Mappings::allow_code(const void* address, int protection) noexcept {
  if ((protection & PROT_EXEC) != 0) runtime_.memory().allow_code(number(address));
}

int Mappings::unmap(void* address, std::size_t bytes) noexcept {
  const bool is_sound = bytes != 0 && number(address) % os::page_bytes() == 0;
  bytes = whole_pages(bytes);
  if (is_sound && files_.covers(address)) return files_.unmap(address, bytes);
  if (!is_sound || !is_shared(address)) return os::unmap_pages(address, bytes);
  if (heap_.is_shared(address)) unmap_shared(number(address), bytes);
  return 0;
}

void Mappings::unmap_shared(std::uintptr_t address, std::size_t bytes) noexcept {
  while (bytes != 0) {
    const auto* const pointer = reinterpret_cast<const void*>(address);
    if (!heap_.is_shared(pointer)) return;
    const Rank owner = heap_.owner_of(pointer);
    const std::size_t part = std::min(bytes, heap_.end_of_part(owner) - address);
    if (owner == runtime_.self()) {
      own_.unmap(address, part);
    } else {
      messages_.release(owner, address, part);
    }
    address += part;
    bytes -= part;
  }
}

void* Mappings::remap(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                      void* wanted) noexcept {
  const bool in_file = files_.covers(address);
  if (!in_file && !is_shared(address)) return os::move_pages(address, old_bytes, new_bytes, flags, wanted);
  if (new_bytes == 0 || old_bytes == 0 || number(address) % os::page_bytes() != 0) return map_failed(EINVAL);
  if ((flags & ~MREMAP_MAYMOVE) != 0) {
    report_refused_call("mremap with MREMAP_FIXED or MREMAP_DONTUNMAP was refused for shared memory",
                        "leave the address to mremap");
    return map_failed(EINVAL);
  }
  old_bytes = whole_pages(old_bytes);
  new_bytes = whole_pages(new_bytes);
  if (in_file) return files_.remap(address, old_bytes, new_bytes, flags != 0);
  return remap_shared(number(address), old_bytes, new_bytes, flags != 0);
}

void* Mappings::remap_shared(std::uintptr_t address, std::size_t old_bytes, std::size_t new_bytes,
                             bool may_move) noexcept {
  void* const old = reinterpret_cast<void*>(address);
  if (!heap_.is_shared(old)) return map_failed(EFAULT);
  if (new_bytes <= old_bytes) {
    unmap_shared(address + new_bytes, old_bytes - new_bytes);
    return old;
  }
  if (heap_.is_own(old) && own_.extend(address, old_bytes, new_bytes)) {
    runtime_.memory().store_zeros(static_cast<char*>(old) + old_bytes, new_bytes - old_bytes);
    return old;
  }
  if (!may_move) return map_failed(ENOMEM);
  MapRequest request{};
  request.bytes = new_bytes;
  void* const moved = take_pages(request);
  if (moved == MAP_FAILED) return MAP_FAILED;
  std::memcpy(moved, old, old_bytes);
  runtime_.memory().store_zeros(static_cast<char*>(moved) + old_bytes, new_bytes - old_bytes);
  unmap_shared(address, old_bytes);
  return moved;
}

int Mappings::protect(void* address, std::size_t bytes, int protection) noexcept {
  if (files_.covers(address)) return files_.protect(address, whole_pages(bytes), protection);
  if (!is_shared(address)) return os::protect_pages(address, bytes, protection);
  allow_code(address, protection);
  return 0;
}

int Mappings::advise(void* address, std::size_t bytes, int advice) noexcept {
  if (!is_shared(address)) return os::advise_pages(address, bytes, advice);
  if (advice == MADV_DONTNEED || advice == MADV_REMOVE) drop(number(address), whole_pages(bytes));
  return 0;
}

// The range reads as zeros; memory of whole blocks is released where this rank has mapped them.
void Mappings::drop(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::size_t block = runtime_.settings().heap_block_bytes;
  const std::uintptr_t end = address + bytes;
  const std::uintptr_t first = (address + block - 1) / block * block, last = end / block * block;
  const auto zeros = [this](std::uintptr_t from, std::uintptr_t to) {
    runtime_.memory().store_zeros(reinterpret_cast<void*>(from), to - from);
  };
  const bool is_own =
      heap_.is_own(reinterpret_cast<void*>(address)) && heap_.is_own(reinterpret_cast<void*>(end - 1));
  if (!is_own || first >= last || !runtime_.memory().give_back(first, last - first))
    return zeros(address, end);
  zeros(address, first);
  zeros(last, end);
}

int Mappings::synchronise(void* address, std::size_t bytes, int flags) noexcept {
  return is_shared(address) ? 0 : os::synchronise_pages(address, bytes, flags);
}

int Mappings::resident(void* address, std::size_t bytes, unsigned char* result) noexcept {
  const std::size_t pages = whole_pages(bytes) / os::page_bytes();
  if (is_shared(address)) {
    std::memset(result, 1, pages);
    return 0;
  }
  if (is_shared(result)) runtime_.memory().touch(result, pages, true);
  return os::resident_pages(address, bytes, result);
}

int Mappings::lock(const void* address, std::size_t bytes, unsigned flags) noexcept {
  return is_shared(address) ? 0 : os::lock_pages(address, bytes, flags);
}

int Mappings::unlock(const void* address, std::size_t bytes) noexcept {
  return is_shared(address) ? 0 : os::unlock_pages(address, bytes);
}

void* Mappings::attach(int segment, const void* wanted, int flags) noexcept {
  if (has_other_hosts()) {
    report_refused_call("shmat was refused: hosts do not share segments of System V",
                        "use malloc, whose memory all ranks share, or run on one host");
    return map_failed(EINVAL);
  }
  if (!is_shared(wanted)) return files_.attach(segment, wanted, flags);
  report_refused_call("shmat over shared memory was refused", "leave the address to shmat");
  return map_failed(EINVAL);
}

int Mappings::detach(const void* address) noexcept {
  return files_.covers(address) ? files_.detach(address) : fail(EINVAL);
}

}  // namespace musubi::image
