#include "machine.h"

#include <cpuid.h>

#include <cstddef>

namespace musubi::atomics {

static_assert(offsetof(Machine, flags) == 128 && offsetof(Machine, code) == 136);
static_assert(offsetof(Machine, own_stack) == 144 && offsetof(Machine, vector_mask_low) == 152);
static_assert(offsetof(Machine, vector) == 192);

extern "C" {
__attribute__((visibility("hidden"), used)) Machine* machine_current = nullptr;
__attribute__((visibility("hidden"), used)) std::uint64_t machine_code = 0;
__attribute__((visibility("hidden"), used)) std::uint64_t machine_rdi = 0;
}

std::uint64_t vector_components() {
  unsigned a, b, c, d;
  if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 0) return 2;
  return a & 0xe6u;
}

__attribute__((naked)) void machine_run(Machine*) {
  asm(R"(
      push %rbx
      push %rbp
      push %r12
      push %r13
      push %r14
      push %r15
      mov %rdi, machine_current(%rip)
      mov 136(%rdi), %rax
      mov %rax, machine_code(%rip)
      mov 152(%rdi), %eax
      mov 156(%rdi), %edx
      xrstor64 192(%rdi)
      mov %rsp, 144(%rdi)
      pushq 128(%rdi)
      popfq
      mov 0(%rdi), %rax
      mov 8(%rdi), %rcx
      mov 16(%rdi), %rdx
      mov 24(%rdi), %rbx
      mov 32(%rdi), %rsp
      mov 40(%rdi), %rbp
      mov 48(%rdi), %rsi
      mov 64(%rdi), %r8
      mov 72(%rdi), %r9
      mov 80(%rdi), %r10
      mov 88(%rdi), %r11
      mov 96(%rdi), %r12
      mov 104(%rdi), %r13
      mov 112(%rdi), %r14
      mov 120(%rdi), %r15
      mov 56(%rdi), %rdi
      jmp *machine_code(%rip)
  )");
}

__attribute__((naked)) void machine_return() {
  asm(R"(
      mov %rdi, machine_rdi(%rip)
      mov machine_current(%rip), %rdi
      mov %rax, 0(%rdi)
      mov %rcx, 8(%rdi)
      mov %rdx, 16(%rdi)
      mov %rbx, 24(%rdi)
      mov %rsp, 32(%rdi)
      mov %rbp, 40(%rdi)
      mov %rsi, 48(%rdi)
      mov %r8, 64(%rdi)
      mov %r9, 72(%rdi)
      mov %r10, 80(%rdi)
      mov %r11, 88(%rdi)
      mov %r12, 96(%rdi)
      mov %r13, 104(%rdi)
      mov %r14, 112(%rdi)
      mov %r15, 120(%rdi)
      mov machine_rdi(%rip), %rax
      mov %rax, 56(%rdi)
      mov 144(%rdi), %rsp
      pushfq
      popq 128(%rdi)
      cld
      mov 152(%rdi), %eax
      mov 156(%rdi), %edx
      xsave64 192(%rdi)
      pushq $0x1f80
      ldmxcsr (%rsp)
      pop %rax
      pop %r15
      pop %r14
      pop %r13
      pop %r12
      pop %rbp
      pop %rbx
      ret
  )");
}

}  // namespace musubi::atomics
