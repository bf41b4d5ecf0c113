#include "checks/x86_64_entry.h"

#include <cstddef>

#include "base/check.h"
#include "checks/abi.h"
#include "os/x86_64_vector_state.h"

namespace musubi::checks {

// The size of the area for vectors, without alignment; the components to save, in two halves; whether the
// processor has XSAVEC.
struct VectorState {
  std::uint64_t bytes;
  std::uint32_t mask_low, mask_high, compact;
};

extern "C" {
// Written once, before page and table are mapped; a global because the assembly below reads it.
__attribute__((visibility("hidden"), used)) VectorState musubi_checks_vector_state{};
}

bool find_vector_state() noexcept {
  const os::VectorState found = os::vector_state();
  musubi_checks_vector_state = {found.bytes, static_cast<std::uint32_t>(found.components),
                                static_cast<std::uint32_t>(found.components >> 32), found.compact ? 1u : 0u};
  return found.bytes != 0;
}

// One entry for each number, of equal length: each puts its number into r11 and goes on at the common part.
// That keeps the registers that a C++ function may change; xrstor restores MXCSR, which gets its default, as
// the ABI promises to C++.
extern "C" __attribute__((naked, visibility("hidden"), used)) void musubi_checks_entries() {
  asm(R"(
      .p2align 4
      .globl musubi_checks_first_entry
      .hidden musubi_checks_first_entry
  musubi_checks_first_entry:
      .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .p2align 4
        endbr64
        mov $\number, %r11d
        jmp musubi_checks_common
      .endr
      .p2align 4
  musubi_checks_common:
      .irp register, rbp, r12, r10, r9, r8, rdi, rsi, rdx, rcx, rax
        push %\register
      .endr
      cld
      mov %rsp, %rbp
      mov %rsi, %r8
      mov %rdi, %r9
      sub musubi_checks_vector_state(%rip), %rsp
      and $-64, %rsp
      xor %eax, %eax
      .irp at, 512, 520, 528, 536, 544, 552, 560, 568
        mov %rax, \at(%rsp)
      .endr
      mov 8 + musubi_checks_vector_state(%rip), %eax
      mov 12 + musubi_checks_vector_state(%rip), %edx
      cmpl $0, 16 + musubi_checks_vector_state(%rip)
      je 1f
      xsavec64 (%rsp)
      jmp 2f
  1:  xsave64 (%rsp)
  2:  mov %rsp, %r12
      pushq $0x1f80
      ldmxcsr (%rsp)
      mov %r12, %rsp
      mov %r11d, %edi
      mov %r9, %rsi
      mov %r8, %rdx
      call musubi_checks_serve
      mov 8 + musubi_checks_vector_state(%rip), %eax
      mov 12 + musubi_checks_vector_state(%rip), %edx
      xrstor64 (%rsp)
      mov %rbp, %rsp
      .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r12, rbp
        pop %\register
      .endr
      ret
  )");
}

extern "C" __attribute__((visibility("hidden"))) const std::byte musubi_checks_first_entry[];

std::uintptr_t address_of_entry(unsigned entry) noexcept {
  constexpr std::size_t entry_bytes = 16;
  MUSUBI_CHECK(entry < MUSUBI_CHECKS_ENTRIES);
  return reinterpret_cast<std::uintptr_t>(musubi_checks_first_entry) + entry * entry_bytes;
}

}  // namespace musubi::checks
