#include "checks/contract.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "checks/abi.h"
#include "checks/x86_64_entry.h"
#include "os/errno_kept.h"
#include "os/system_call.h"

namespace musubi::checks {
namespace {

// Compiled code calls the entries without an argument of the runtime's.
struct Attachment {
  std::atomic<CheckSink*> sink{nullptr};
  std::atomic<pid_t> process{0};
} attachment;

constexpr std::size_t page_bytes = 4096;

constexpr const char* page_in_use =
    "the addresses of the page of compiled checks are in use: they go neither together with a sanitizer, nor "
    "with more than 1.7 GB of static data at low addresses";
constexpr const char* table_in_use =
    "the addresses of the table of compiled checks are in use: by a sanitizer, or by a program that maps "
    "memory at fixed addresses";

// The C library's function answers for the job: in a finished program's ranks, by the first rank's number.
pid_t this_process() noexcept {
  return static_cast<pid_t>(os::system_call(SYS_getpid));
}

// Result: false if something is mapped there.
Result<bool> map(std::uintptr_t address, std::size_t bytes, int protection) {
  void* const wanted = reinterpret_cast<void*>(address);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const found = ::mmap(wanted, bytes, protection, flags, -1, 0);
  if (found == wanted) return true;
  if (found != MAP_FAILED) ::munmap(found, bytes);  // a kernel without MAP_FIXED_NOREPLACE
  if (found != MAP_FAILED || errno == EEXIST) return false;
  return Error{std::string("no address space for the states of compiled checks: ") + ::strerror(errno)};
}

struct Head {
  std::uint64_t magic;
  std::uint32_t abi;
  std::uint32_t granule_shift;
};
static_assert(offsetof(Head, abi) == MUSUBI_CHECKS_PAGE_ABI - MUSUBI_CHECKS_PAGE_MAGIC);
static_assert(offsetof(Head, granule_shift) == MUSUBI_CHECKS_PAGE_GRANULE_SHIFT - MUSUBI_CHECKS_PAGE_MAGIC);

// The bytes there may be unreadable.
bool is_page_of(unsigned granule_shift) {
  Head head{};
  iovec to{&head, sizeof head};
  iovec from{reinterpret_cast<void*>(std::uintptr_t{MUSUBI_CHECKS_PAGE + MUSUBI_CHECKS_PAGE_MAGIC}),
             sizeof head};
  if (::process_vm_readv(this_process(), &to, 1, &from, 1, 0) != sizeof head) return false;
  return head.magic == MUSUBI_CHECKS_MAGIC && head.abi == MUSUBI_CHECKS_ABI &&
         head.granule_shift == granule_shift;
}

Result<void> fill_page(unsigned granule_shift) {
  auto* const page = reinterpret_cast<std::byte*>(std::uintptr_t{MUSUBI_CHECKS_PAGE});
  if (::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
    return Error{std::string("the page of compiled checks cannot be written: ") + ::strerror(errno)};
  for (unsigned entry = 0; entry < MUSUBI_CHECKS_ENTRIES; ++entry) {
    const std::uintptr_t address = address_of_entry(entry);
    std::memcpy(page + sizeof address * entry, &address, sizeof address);
  }
  const Head head{MUSUBI_CHECKS_MAGIC, MUSUBI_CHECKS_ABI, granule_shift};
  std::memcpy(page + MUSUBI_CHECKS_PAGE_MAGIC, &head, sizeof head);
  ::mprotect(page, page_bytes, PROT_READ);
  return {};
}

}  // namespace

Result<void> open_contract(unsigned granule_shift) {
  if (!find_vector_state()) {
    return Error{
        "this processor or kernel lacks XSAVE, which compiled checks need; let the virtual machine "
        "have the host's processor"};
  }
  auto is_new = map(MUSUBI_CHECKS_PAGE, page_bytes, PROT_READ);
  if (!is_new) return is_new.error();
  if (is_new.value()) {
    const std::size_t bytes = std::size_t{1} << (MUSUBI_CHECKS_ADDRESS_BITS - granule_shift);
    auto is_free = map(MUSUBI_CHECKS_TABLE, bytes, PROT_READ);
    if (!is_free) return is_free.error();
    if (!is_free.value()) return Error{table_in_use};
    ::madvise(reinterpret_cast<void*>(std::uintptr_t{MUSUBI_CHECKS_TABLE}), bytes, MADV_DONTDUMP);
  } else if (!is_page_of(granule_shift)) {
    return Error{page_in_use};
  }
  return fill_page(granule_shift);
}

void attach(CheckSink& sink) noexcept {
  attachment.process.store(this_process());
  attachment.sink.store(&sink);
}
void detach() noexcept {
  attachment.sink.store(nullptr);
}

// Numbers without a name end the program, also where no job runs.
extern "C" __attribute__((visibility("hidden"), used)) void musubi_checks_serve(
    std::uint64_t entry, std::uintptr_t address, std::uint64_t bytes) noexcept {
  CheckSink* const sink = attachment.sink.load();
  const os::ErrnoKept kept;
  if (sink == nullptr || attachment.process.load() != this_process()) return;
  switch (entry) {
    case MUSUBI_CHECKS_ENTRY_READ:
      return sink->before_reading({address, 1});
    case MUSUBI_CHECKS_ENTRY_WRITE:
      return sink->before_writing({address, 1});
    case MUSUBI_CHECKS_ENTRY_READ_RANGE:
      return sink->before_reading({address, bytes});
    case MUSUBI_CHECKS_ENTRY_WRITE_RANGE:
      return sink->before_writing({address, bytes});
    case MUSUBI_CHECKS_ENTRY_OVERWRITE:
      return sink->before_overwriting({address, bytes});
    case MUSUBI_CHECKS_ENTRY_WRITTEN:
      return sink->after_writing({address, bytes});
    case MUSUBI_CHECKS_ENTRY_STORE:
      return sink->before_storing({address, 1});
    default:
      sink->on_unknown_entry(static_cast<unsigned>(entry));
  }
}

}  // namespace musubi::checks
