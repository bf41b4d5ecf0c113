#include "image/process/call_as.h"

#include <link.h>

#include <cstdint>
#include <cstring>

namespace musubi::image {
namespace {

// Calls through `gadget`, a return instruction in the caller's object: the function returns to it, then here.
__attribute__((naked)) void* call_by_way_of(const void*, const void*, std::uintptr_t, std::uintptr_t,
                                            std::uintptr_t) {
  asm(R"(
      lea 1f(%rip), %rax
      push %rax
      push %rdi
      mov %rsi, %rax
      mov %rdx, %rdi
      mov %rcx, %rsi
      mov %r8, %rdx
      jmp *%rax
  1:  ret
  )");
}

struct Search {
  std::uintptr_t address;
  const void* gadget;
};

int find_return(dl_phdr_info* object, std::size_t, void* given) {
  auto& search = *static_cast<Search*>(given);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    if (search.address - begin >= header.p_memsz) continue;
    constexpr int return_near = 0xc3;  // also in the middle of another instruction
    search.gadget = std::memchr(reinterpret_cast<const void*>(begin), return_near, header.p_memsz);
    return 1;
  }
  return 0;
}

const void* return_of(const void* caller) {
  Search search{reinterpret_cast<std::uintptr_t>(caller), nullptr};
  ::dl_iterate_phdr(find_return, &search);
  return search.gadget;
}

}  // namespace

void* open_as(const void* caller, OpenFunction open, const char* path, int flags) {
  const void* const gadget = return_of(caller);
  if (gadget == nullptr) return open(path, flags);
  return call_by_way_of(gadget, reinterpret_cast<void*>(open), reinterpret_cast<std::uintptr_t>(path),
                        static_cast<std::uintptr_t>(flags), 0);
}

void* look_up_as(const void* caller, LookUp look_up, void* handle, const char* name) {
  const void* const gadget = return_of(caller);
  if (gadget == nullptr) return look_up(handle, name);
  return call_by_way_of(gadget, reinterpret_cast<void*>(look_up), reinterpret_cast<std::uintptr_t>(handle),
                        reinterpret_cast<std::uintptr_t>(name), 0);
}

void call_from_its_object(const void* function, const std::array<std::uint64_t, 3>& arguments) {
  const auto [a, b, c] = arguments;
  const void* const gadget = return_of(function);
  if (gadget != nullptr) {
    call_by_way_of(gadget, function, a, b, c);
  } else {
    reinterpret_cast<void (*)(std::uint64_t, std::uint64_t, std::uint64_t)>(const_cast<void*>(function))(a, b,
                                                                                                         c);
  }
}

}  // namespace musubi::image
