#include "os/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "os/own_files.h"
#include "os/system_call.h"

namespace musubi::os {
namespace {

int native(Protection protection) noexcept {
  switch (protection) {
    case Protection::none:
      return PROT_NONE;
    case Protection::read:
      return PROT_READ;
    case Protection::read_write:
      return PROT_READ | PROT_WRITE;
  }
  return PROT_NONE;
}

// A remedy for a failed memory call, by its error.
const char* remedy(int error) noexcept {
  switch (error) {
    case ENOMEM:
      return "raise the limits on address space (ulimit -v) and on mappings (vm.max_map_count)";
    case EEXIST:
      return "something is mapped there: choose another base address";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    case ENFILE:
      return "the system has too many open files (fs.file-max)";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f)";
    case EINVAL:
      return "use whole pages";
    default:
      return "see the kernel's documentation of this error";
  }
}

Error failure(const char* operation, void* address, std::size_t bytes, int error) {
  char text[256];
  std::snprintf(text, sizeof text, "%s of %zu bytes at %p: %s; %s", operation, bytes, address,
                std::strerror(error), remedy(error));
  return Error{text};
}

Result<std::byte*> map(void* address, std::size_t bytes, Protection protection, Source source,
                       int placement) {
  const int kind = source.file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* data = ::mmap(address, bytes, native(protection), kind | MAP_NORESERVE | placement, source.file,
                      static_cast<off_t>(source.offset));
  if (data == MAP_FAILED) return failure("cannot map: mmap", address, bytes, errno);
  if (address != nullptr && data != address) {  // a kernel before 4.17 takes MAP_FIXED_NOREPLACE as a hint
    ::munmap(data, bytes);
    return failure("cannot map: mmap", address, bytes, EEXIST);
  }
  return static_cast<std::byte*>(data);
}

}  // namespace

std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool commits_strictly() {
  std::ifstream setting("/proc/sys/vm/overcommit_memory");
  int value = 0;
  return setting >> value && value == 2;
}

FileDescriptor::FileDescriptor(int number) noexcept : number_(number) {
  if (number >= 0) note_own_file(number, true);
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

int FileDescriptor::release() noexcept {
  if (number_ >= 0) note_own_file(number_, false);
  return std::exchange(number_, -1);
}

// By the bare system call: the program's close() refuses descriptors of the runtime.
void FileDescriptor::close() noexcept {
  const int number = release();
  if (number >= 0) system_call(SYS_close, number);
}

Result<FileDescriptor> create_memory_file(const char* name, std::size_t bytes, AcrossExec across_exec) {
  FileDescriptor file{::memfd_create(name, across_exec == AcrossExec::closed ? MFD_CLOEXEC : 0u)};
  if (file.number() < 0) return failure("cannot create shared memory: memfd_create", nullptr, bytes, errno);
  if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
    return failure("cannot size shared memory: ftruncate", nullptr, bytes, errno);
  }
  return file;
}

Result<FileDescriptor> open_file_of_process(pid_t pid, int number) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid), number);
  FileDescriptor file{::open(path, O_RDWR | O_CLOEXEC)};
  if (file.number() >= 0) return file;
  return Error{
      std::string("cannot open the memory of a peer: ") + path + ": " + std::strerror(errno) +
      "; start all ranks of a host as one user, in one container (PID namespace), with /proc mounted"};
}

bool punch_hole(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes) noexcept {
  return ::fallocate(file.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(bytes)) == 0;
}

bool drop_private(std::uintptr_t address, std::size_t bytes) noexcept {
  return ::madvise(reinterpret_cast<void*>(address), bytes, MADV_DONTNEED) == 0;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    unmap();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Result<Mapping> Mapping::anywhere(std::size_t bytes, Protection protection, Source source) {
  auto data = map(nullptr, bytes, protection, source, 0);
  if (!data) return data.error();
  return Mapping{data.value(), bytes};
}

Result<Mapping> Mapping::at(void* address, std::size_t bytes, Protection protection, Source source) {
  auto data = map(address, bytes, protection, source, MAP_FIXED_NOREPLACE);
  if (!data) return data.error();
  return Mapping{data.value(), bytes};
}

void Mapping::prefer_huge_pages(std::size_t offset, std::size_t bytes) const noexcept {
  ::madvise(data_ + offset, bytes, MADV_HUGEPAGE);
}

std::byte* Mapping::release() noexcept {
  bytes_ = 0;
  return std::exchange(data_, nullptr);
}

void Mapping::unmap() noexcept {
  if (data_ != nullptr) ::munmap(std::exchange(data_, nullptr), std::exchange(bytes_, 0));
}

Result<void> map_over(void* address, std::size_t bytes, Protection protection, Source source) {
  auto data = map(address, bytes, protection, source, MAP_FIXED);
  if (!data) return data.error();
  return {};
}

std::vector<bool> touched_pages(const void* address, std::size_t pages) {
  constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
  constexpr std::size_t entries_at_once = 32768;
  std::vector<bool> touched(pages, true);
  const FileDescriptor map{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
  if (map.number() < 0) return touched;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(address) / page_bytes();
  std::vector<std::uint64_t> entries(std::min(pages, entries_at_once));
  for (std::size_t done = 0; done < pages;) {
    const std::size_t wanted = std::min(pages - done, entries.size()) * sizeof entries[0];
    const auto offset = static_cast<off_t>((first + done) * sizeof entries[0]);
    const ssize_t bytes = ::pread(map.number(), entries.data(), wanted, offset);
    if (bytes < static_cast<ssize_t>(sizeof entries[0])) break;
    const std::size_t read = static_cast<std::size_t>(bytes) / sizeof entries[0];
    for (std::size_t i = 0; i < read; ++i) touched[done + i] = (entries[i] & present_or_swapped) != 0;
    done += read;
  }
  return touched;
}

std::uint64_t next_data(int file, std::uint64_t offset) noexcept {
  const off_t found = ::lseek(file, static_cast<off_t>(offset), SEEK_DATA);
  if (found >= 0) return static_cast<std::uint64_t>(found);
  return errno == ENXIO ? UINT64_MAX : 0;
}

Result<void> protect(void* address, std::size_t bytes, Protection protection) {
  if (::mprotect(address, bytes, native(protection)) != 0) {
    return failure("cannot change the protection: mprotect", address, bytes, errno);
  }
  return {};
}

}  // namespace musubi::os
