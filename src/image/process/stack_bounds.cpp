#include "image/process/stack_bounds.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "os/memory.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// The C library's variable. Null: main has not begun.
constinit void** stack_end = nullptr;
constinit bool stack_end_is_protected = false;
constinit void* end_of_initial = nullptr;
constinit void* end_of_main = nullptr;

// Whether the variable is in memory that the dynamic linker has protected, so that it is not the program's
// copy.
bool is_protected(const void* variable) noexcept {
  struct Search {
    std::uintptr_t address;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(variable), false};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* given) {
        auto& wanted = *static_cast<Search*>(given);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = object->dlpi_phdr[i];
          if (header.p_type != PT_GNU_RELRO) continue;
          wanted.found |= wanted.address - (object->dlpi_addr + header.p_vaddr) < header.p_memsz;
        }
        return 0;
      },
      &search);
  return search.found;
}

void set_stack_end(void* end) noexcept {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(stack_end);
  const auto page = static_cast<long>(address / os::page_bytes() * os::page_bytes());
  const auto bytes = static_cast<long>(os::page_bytes());
  const long open = PROT_READ | PROT_WRITE;
  if (stack_end_is_protected && os::system_call(SYS_mprotect, page, bytes, open) != 0) return;
  *stack_end = end;
  if (stack_end_is_protected) os::system_call(SYS_mprotect, page, bytes, PROT_READ);
}

// The fields of /proc/self/stat from the third on, by their number in proc(5).
class KernelFields {
 public:
  KernelFields() noexcept {
    std::array<char, 2048> text;
    const long file =
        os::system_call(SYS_openat, AT_FDCWD, os::as_argument("/proc/self/stat"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const long bytes = os::system_call(SYS_read, file, os::as_argument(text.data()), text.size());
    os::system_call(SYS_close, file);
    std::string_view rest(text.data(), static_cast<std::size_t>(std::max(bytes, 0L)));
    // the program's name may contain any character
    rest.remove_prefix(std::min(rest.rfind(')') + 2, rest.size()));
    for (std::size_t field = 3; field < values_.size() && !rest.empty(); ++field) {
      std::from_chars(rest.data(), rest.data() + rest.size(), values_[field]);
      rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
      known_ = field;
    }
  }
  bool complete() const noexcept { return known_ >= 51; }
  std::uint64_t operator[](std::size_t field) const noexcept { return values_[field]; }

 private:
  std::array<std::uint64_t, 53> values_{};
  std::size_t known_ = 0;
};

// Sets the stack address that the kernel shows to other processes. It may refuse; the program does not depend
// on it.
void tell_kernel(const void* end) noexcept {
  const KernelFields now;
  if (!now.complete()) return;
  prctl_mm_map map{};
  map.start_code = now[26];
  map.end_code = now[27];
  map.start_data = now[45];
  map.end_data = now[46];
  map.start_brk = now[47];
  map.brk = static_cast<std::uint64_t>(os::system_call(SYS_brk, 0));
  map.start_stack = reinterpret_cast<std::uint64_t>(end);
  map.arg_start = now[48];
  map.arg_end = now[49];
  map.env_start = now[50];
  map.env_end = now[51];
  map.exe_fd = ~0u;
  os::system_call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, os::as_argument(&map), sizeof map, 0);
}

}  // namespace

void tell_stack_of_main(void* end) noexcept {
  tell_kernel(end);
  stack_end = static_cast<void**>(::dlsym(RTLD_DEFAULT, "__libc_stack_end"));
  if (stack_end == nullptr) return;
  stack_end_is_protected = is_protected(stack_end);
  end_of_initial = *stack_end;
  end_of_main = end;
  set_stack_end(end);
}

InitialStackTold::InitialStackTold() noexcept {
  if (stack_end_is_protected) set_stack_end(end_of_initial);
}

InitialStackTold::~InitialStackTold() {
  if (stack_end_is_protected) set_stack_end(end_of_main);
}

}  // namespace musubi::image
