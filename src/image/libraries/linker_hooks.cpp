#include "image/libraries/linker_hooks.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "atomics/near_memory.h"
#include "image/libraries/loaded_objects.h"

namespace musubi::image {
namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::size_t reach = std::size_t{1} << 30;
constexpr std::uint8_t jump_near = 0xe9, no_operation = 0x90, return_near = 0xc3;
constexpr std::size_t jump_bytes = 5;

// mov $9, %eax; syscall: the kernel's mmap.
constexpr std::array<std::uint8_t, 7> map_call{0xb8, 0x09, 0, 0, 0, 0x0f, 0x05};

// Replaces these instructions: asks for an address, then runs them. The two addresses are filled in.
constexpr std::uint8_t map_stub[] = {0x48, 0x8d, 0x64, 0x24, 0x80,  // lea -128(%rsp), %rsp
                                     0x55,                          // push %rbp
                                     0x48, 0x89, 0xe5,              // mov %rsp, %rbp
                                     0x57, 0x56, 0x52, 0x41, 0x52,  // push %rdi, %rsi, %rdx, %r10
                                     0x41, 0x50, 0x41, 0x51,        // push %r8, %r9
                                     0x48, 0x83, 0xe4, 0xf0,        // and $-16, %rsp
                                     0x4c, 0x89, 0xd1,              // mov %r10, %rcx
                                     0x48, 0xb8, 0,    0,    0,    0,    0,    0,
                                     0,    0,                       // movabs $place, %rax
                                     0xff, 0xd0,                    // call *%rax
                                     0x48, 0x8d, 0x65, 0xd0,        // lea -48(%rbp), %rsp
                                     0x41, 0x59, 0x41, 0x58,        // pop %r9, %r8
                                     0x41, 0x5a, 0x5a, 0x5e, 0x5f,  // pop %r10, %rdx, %rsi, %rdi
                                     0x5d,                          // pop %rbp
                                     0x48, 0x8d, 0xa4, 0x24, 0x80, 0,    0,    0,  // lea 128(%rsp), %rsp
                                     0x48, 0x85, 0xc0,                             // test %rax, %rax
                                     0x74, 0x0a,                                   // je over the next two
                                     0x48, 0x89, 0xc7,                             // mov %rax, %rdi
                                     0x41, 0x81, 0xca, 0,    0,    0x10, 0,  // or $MAP_FIXED_NOREPLACE, %r10d
                                     0xb8, 0x09, 0,    0,    0,    0x0f, 0x05,  // mov $9, %eax; syscall
                                     0xff, 0x25, 0,    0,    0,    0,  // jmp to the address that follows
                                     0,    0,    0,    0,    0,    0,    0,    0};
constexpr std::size_t place_at = 27;
constexpr std::size_t back_at = sizeof map_stub - 8;
static_assert(MAP_FIXED_NOREPLACE == 0x100000);
static_assert(map_stub[place_at - 2] == 0x48 && map_stub[place_at - 1] == 0xb8);

constexpr std::uint8_t change_stub[] = {0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::size_t change_at = sizeof change_stub - 8;

// The dynamic linker passes no argument of ours.
constinit thread_local LinkerWatch* watch_of_thread = nullptr;

std::uintptr_t place_mapping(std::uintptr_t address, std::size_t bytes, int protection, int flags, int file) {
  if (watch_of_thread == nullptr || address != 0) return 0;
  // Objects are mapped with a flag that nothing else uses; first without access if they need alignment.
  const bool is_object = file >= 0 && (flags & MAP_DENYWRITE) != 0;
  const bool is_room = file < 0 && protection == PROT_NONE;
  return is_object || is_room ? watch_of_thread->place_object(bytes) : 0;
}

void objects_changed() {
  if (watch_of_thread != nullptr && _r_debug.r_state == r_debug::RT_CONSISTENT)
    watch_of_thread->objects_mapped();
}

using Code = std::span<const std::uint8_t>;

Code code_of_linker() {
  Code result;
  for (const link_map* object : linked_objects()) {
    if (!is_library(object->l_name, "ld-linux*")) continue;
    visit_object(*object, [&](const dl_phdr_info& info) {
      for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info.dlpi_phdr[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
        result = {reinterpret_cast<const std::uint8_t*>(info.dlpi_addr + header.p_vaddr), header.p_memsz};
      }
    });
  }
  return result;
}

// The address of the only such call; null if there is none or several.
const std::uint8_t* find_map_call(Code code) {
  const std::uint8_t* found = nullptr;
  for (std::size_t at = 0; at + map_call.size() <= code.size(); ++at) {
    if (std::memcmp(&code[at], map_call.data(), map_call.size()) != 0) continue;
    if (found != nullptr) return nullptr;
    found = &code[at];
  }
  return found;
}

// The function that debuggers stop in: a return, and padding up to the next function. Null: any other code.
const std::uint8_t* find_change_return(Code code) {
  constexpr std::uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::uintptr_t alignment = 16;
  const auto* function = reinterpret_cast<const std::uint8_t*>(_r_debug.r_brk);
  if (function < code.data() || function + alignment > code.data() + code.size()) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(function) % alignment != 0) return nullptr;
  if (std::memcmp(function, landing, sizeof landing) == 0) function += sizeof landing;
  return *function == return_near ? function : nullptr;
}

void write_jump(std::uint8_t* from, std::size_t bytes, const std::uint8_t* to) {
  std::memset(from, no_operation, bytes);
  const auto distance = static_cast<std::int32_t>(to - (from + jump_bytes));
  from[0] = jump_near;
  std::memcpy(from + 1, &distance, sizeof distance);
}

void write_address(std::uint8_t* at, std::uintptr_t address) {
  std::memcpy(at, &address, sizeof address);
}

bool protect(const std::uint8_t* code, std::size_t bytes, int protection) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(code) & ~(page - 1);
  return ::mprotect(reinterpret_cast<void*>(begin), reinterpret_cast<std::uintptr_t>(code) + bytes - begin,
                    protection) == 0;
}

// The code stays executable throughout: this thread's mprotect may run through it.
bool redirect(const std::uint8_t* code, std::size_t bytes, const std::uint8_t* to) {
  if (!protect(code, bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
  write_jump(const_cast<std::uint8_t*>(code), bytes, to);
  return protect(code, bytes, PROT_READ | PROT_EXEC);
}

}  // namespace

Result<void> install_linker_hooks() {
  const Code code = code_of_linker();
  const std::uint8_t* const map = find_map_call(code);
  const std::uint8_t* const change = find_change_return(code);
  const Error unknown{"this dynamic linker is not one that can be watched"};
  if (map == nullptr || change == nullptr) return unknown;
  const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
  auto memory = atomics::FreeMemory({}).map_near({begin, begin + code.size()}, page, reach);
  if (!memory) return memory.error();
  std::uint8_t* const stub = memory.value();
  std::memcpy(stub, map_stub, sizeof map_stub);
  write_address(stub + place_at, reinterpret_cast<std::uintptr_t>(&place_mapping));
  write_address(stub + back_at, reinterpret_cast<std::uintptr_t>(map + map_call.size()));
  std::uint8_t* const second = stub + sizeof map_stub;
  std::memcpy(second, change_stub, sizeof change_stub);
  write_address(second + change_at, reinterpret_cast<std::uintptr_t>(&objects_changed));
  if (::mprotect(stub, page, PROT_READ | PROT_EXEC) != 0 || !redirect(map, map_call.size(), stub) ||
      !redirect(change, jump_bytes, second)) {
    return Error{"the dynamic linker's code cannot be changed: allow writable code (SELinux: execmod)"};
  }
  return {};
}

void watch_linker(LinkerWatch* watch) noexcept {
  watch_of_thread = watch;
}

}  // namespace musubi::image
