#include "os/fault_file.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "os/errno_kept.h"

namespace musubi::os {
namespace {

// Constants of the kernel's interface that older headers lack.
constexpr int user_mode_only = 1;
constexpr std::uint64_t signal_feature = std::uint64_t{1} << 7;
constexpr std::uint64_t minor_shared_feature = std::uint64_t{1} << 10;
constexpr std::uint64_t write_protect_shared_feature = std::uint64_t{1} << 12;
constexpr std::uint64_t needed_features =
    signal_feature | minor_shared_feature | write_protect_shared_feature;
// Faults on pages that the file does not hold yet and on protected pages, in addition to unmapped ones.
constexpr std::uint64_t watched_faults =
    std::uint64_t{1} << 0 | std::uint64_t{1} << 1 | std::uint64_t{1} << 2;
constexpr std::uint64_t map_without_waking = std::uint64_t{1} << 0;
constexpr std::uint64_t map_protected = std::uint64_t{1} << 1;
constexpr int unmap_locked_too = 24;  // MADV_DONTNEED_LOCKED: the program may have called mlockall

struct MapRequest {  // uffdio_continue
  std::uint64_t start;
  std::uint64_t bytes;
  std::uint64_t mode;
  std::int64_t mapped;
};
constexpr unsigned long map_request = _IOWR(UFFDIO, 0x07, MapRequest);

FileDescriptor open_bare(int flags) noexcept {
  return FileDescriptor(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags)));
}

// Result: the kernel's features; 0 if it refuses the wanted ones.
std::uint64_t agree(const FileDescriptor& file, std::uint64_t wanted) noexcept {
  uffdio_api agreement{};
  agreement.api = UFFD_API;
  agreement.features = wanted;
  return ::ioctl(file.number(), UFFDIO_API, &agreement) == 0 ? agreement.features : 0;
}

Error refusal(int error) {
  const std::string otherwise = ", or set vm_driver=mprotect";
  if (error == ENOSYS)
    return Error{"this kernel has no userfaultfd: boot Linux 6.4 or newer with CONFIG_USERFAULTFD" +
                 otherwise};
  return Error{std::string("userfaultfd is refused (") + std::strerror(error) +
               "): set vm.unprivileged_userfaultfd=1, or allow userfaultfd(2) in the container's seccomp "
               "profile" +
               otherwise};
}

Error too_old() {
  return Error{
      "userfaultfd of this kernel cannot map pages of memory files write-protected: boot Linux 6.4 or newer, "
      "or set vm_driver=mprotect"};
}

// Maps a page of a file protected, lifts the protection, and unmaps it again.
bool works_on_a_page(FaultFile& file) {
  const std::size_t page = page_bytes();
  auto memory = create_memory_file("musubi-trial", page);
  if (!memory) return false;
  const Source source{memory.value().number(), 0};
  auto filled = Mapping::anywhere(page, Protection::read_write, source);
  auto watched = Mapping::anywhere(page, Protection::read_write, source);
  if (!filled || !watched) return false;
  *filled.value().data() = std::byte{1};
  std::byte* const address = watched.value().data();
  return file.watch(address, page).ok() && file.map(address, page, false).error == 0 &&
         file.set_writable(address, page, true) == 0 && FaultFile::unmap(address, page) == 0 &&
         file.leave_alone(address, page) == 0;
}

uffdio_range range_of(void* address, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::uintptr_t>(address), bytes};
}

}  // namespace

FaultFileOffer fault_file_offer() noexcept {
  FaultFileOffer offer;
  FileDescriptor file = open_bare(0);
  offer.reach = FaultFileReach::full;
  if (file.number() < 0) {
    file = open_bare(user_mode_only);
    offer.reach = FaultFileReach::user_mode_only;
  }
  if (file.number() < 0) offer.error = errno;
  if (file.number() >= 0) offer.features = agree(file, 0);
  if (offer.features == 0) offer.reach = FaultFileReach::none;
  return offer;
}

Result<FaultFile> FaultFile::open() {
  // Faults of system calls are not needed: in SIGBUS mode they fail in any case.
  FileDescriptor file = open_bare(user_mode_only);
  if (file.number() < 0 && errno == EINVAL) file = open_bare(0);  // before Linux 5.11
  if (file.number() < 0) return refusal(errno);
  if (agree(file, needed_features) == 0) return too_old();
  FaultFile opened(std::move(file));
  if (!works_on_a_page(opened)) return too_old();
  return opened;
}

Result<void> FaultFile::watch(void* address, std::size_t bytes) {
  uffdio_register request{};
  request.range = range_of(address, bytes);
  request.mode = watched_faults;
  if (::ioctl(file_.number(), UFFDIO_REGISTER, &request) == 0) return {};
  return Error{"cannot watch " + std::to_string(bytes) + " bytes by userfaultfd (" + std::strerror(errno) +
               "); set vm_driver=mprotect"};
}

int FaultFile::leave_alone(void* address, std::size_t bytes) noexcept {
  const ErrnoKept errno_kept;
  uffdio_range range = range_of(address, bytes);
  return ::ioctl(file_.number(), UFFDIO_UNREGISTER, &range) == 0 ? 0 : errno;
}

FaultFile::Mapped FaultFile::map(void* address, std::size_t bytes, bool writable) noexcept {
  const ErrnoKept errno_kept;
  std::size_t done = 0;
  for (;;) {
    MapRequest request{reinterpret_cast<std::uintptr_t>(address) + done, bytes - done,
                       map_without_waking | (writable ? 0 : map_protected), 0};
    if (::ioctl(file_.number(), map_request, &request) == 0) return {bytes, 0};
    // EAGAIN: some pages were mapped; the next attempt returns the error of the page that was not.
    if (errno != EAGAIN) return {done, errno};
    if (request.mapped > 0) done += static_cast<std::size_t>(request.mapped);
  }
}

int FaultFile::set_writable(void* address, std::size_t bytes, bool writable) noexcept {
  const ErrnoKept errno_kept;
  uffdio_writeprotect request{};
  request.range = range_of(address, bytes);
  request.mode = writable ? 0 : UFFDIO_WRITEPROTECT_MODE_WP;
  int result = 0;
  do {
    result = ::ioctl(file_.number(), UFFDIO_WRITEPROTECT, &request);
  } while (result != 0 && errno == EAGAIN);
  return result == 0 ? 0 : errno;
}

int FaultFile::unmap(void* address, std::size_t bytes) noexcept {
  const ErrnoKept errno_kept;
  return ::madvise(address, bytes, unmap_locked_too) == 0 ? 0 : errno;
}

}  // namespace musubi::os
