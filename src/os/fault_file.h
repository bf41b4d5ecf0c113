// userfaultfd(2): faults on chosen pages of a memory file are delivered to the faulting thread as SIGBUS
// instead of being resolved by the kernel. Only for memory files (memfd) that are mapped shared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::os {

// The faults that this process may handle with userfaultfd.
enum class FaultFileReach : std::uint8_t { none, user_mode_only, full };

// The kernel's offer, found by asking. Changes nothing.
struct FaultFileOffer {
  FaultFileReach reach = FaultFileReach::none;
  std::uint64_t features = 0;  // UFFD_FEATURE_*
  int error = 0;               // errno of the refusal if `reach` is none
};
FaultFileOffer fault_file_offer() noexcept;

// The operations on pages take whole pages within one watched range, keep errno, and may be called by any
// thread, also inside a signal handler.
class FaultFile {
 public:
  // Tries on one page whether watch() and the operations work. Errors: no userfaultfd in the kernel, not
  // permitted, or too old to write-protect mapped pages of memory files (needs Linux 6.4).
  static Result<FaultFile> open();

  // From now on an access in the range to an unmapped or write-protected page raises SIGBUS (BUS_ADRERR), and
  // fails with EFAULT inside a system call. Pages that are already mapped stay mapped.
  Result<void> watch(void* address, std::size_t bytes);
  // From now on the kernel resolves faults in the range. Result: 0 or an error number.
  int leave_alone(void* address, std::size_t bytes) noexcept;

  // Maps pages of the file, writable or write-protected, up to the first page that cannot be mapped. Result:
  // the bytes mapped, and the error of that page: 0 (all were mapped), EEXIST (already mapped), EFAULT (the
  // file does not hold it yet), or another error number.
  struct Mapped {
    std::size_t bytes;
    int error;
  };
  Mapped map(void* address, std::size_t bytes, bool writable) noexcept;
  // Write-protects pages, or lifts the protection, at once for all threads. Result: 0 or an error number.
  int set_writable(void* address, std::size_t bytes, bool writable) noexcept;
  // Unmaps pages, at once for all threads; the file keeps their bytes. Result: 0 or an error number.
  static int unmap(void* address, std::size_t bytes) noexcept;

 private:
  explicit FaultFile(FileDescriptor file) noexcept : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace musubi::os
