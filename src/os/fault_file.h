// userfaultfd(2): faults of chosen pages of a memory file that come back to the faulting thread as SIGBUS
// instead of being resolved by the kernel. Of memory files (memfd) mapped shared only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::os {

// How far this process gets with userfaultfd.
enum class FaultFileReach : std::uint8_t { none, user_mode_only, full };

// What the kernel offers, found by asking. Changes nothing.
struct FaultFileOffer {
  FaultFileReach reach = FaultFileReach::none;
  std::uint64_t features = 0;  // UFFD_FEATURE_*
  int error = 0;               // errno of the refusal when there is no reach
};
FaultFileOffer fault_file_offer() noexcept;

// The operations on pages take whole pages within one watched range, keep errno, and may be called by any
// thread, also inside a signal handler.
class FaultFile {
 public:
  // Whether what watch() and the operations do works is tried on a page. Errors: no userfaultfd in the
  // kernel, not permitted, too old for write protection of pages of memory files that it maps (Linux 6.4).
  static Result<FaultFile> open();

  // From now on an access in the range to a page that is not mapped, or is write-protected, raises SIGBUS
  // (BUS_ADRERR), and fails with EFAULT inside a system call. Pages that are mapped already stay so.
  Result<void> watch(void* address, std::size_t bytes);
  // From now on the kernel resolves faults in the range. Result: 0 or an error number.
  int leave_alone(void* address, std::size_t bytes) noexcept;

  // Maps pages of the file, writable or write-protected, until one cannot be mapped. Result: the bytes mapped
  // before, and what is the matter with the next page: 0 (there is none), EEXIST (it is mapped), EFAULT (the
  // file does not hold it yet), or another error number.
  struct Mapped {
    std::size_t bytes;
    int error;
  };
  Mapped map(void* address, std::size_t bytes, bool writable) noexcept;
  // Write-protects pages, or ends that, at once for all threads. Result: 0 or an error number.
  int set_writable(void* address, std::size_t bytes, bool writable) noexcept;
  // Unmaps pages, at once for all threads; the file keeps their bytes. Result: 0 or an error number.
  static int unmap(void* address, std::size_t bytes) noexcept;

 private:
  explicit FaultFile(FileDescriptor file) noexcept : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace musubi::os
