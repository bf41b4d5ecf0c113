// getcontext and its relatives. The C library's own pass the masks inside the contexts to the kernel,
// which would meet closed pages: here masks go through the record of the program's signals, and registers are
// read from a copy.
#include <signal.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "image/symbols/exported.h"
#include "image/symbols/processes/user_signals.h"

namespace {

using namespace musubi::image;

constinit Next<int (*)(const ucontext_t*)> next_setcontext("setcontext");

constexpr std::size_t offset_of_register(int number) {
  return offsetof(ucontext_t, uc_mcontext.gregs) + number * sizeof(greg_t);
}

}  // namespace

// As setcontext: returns only on failure.
extern "C" __attribute__((visibility("hidden"))) int musubi_enter_context(const ucontext_t* context) {
  // The copy is on a stack that another thread of this rank may close before the kernel reads it.
  constexpr int attempts_max = 16;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    ucontext_t copy = *context;
    copy.uc_sigmask = *WaitingMask(&context->uc_sigmask).get();
    copy.uc_mcontext.fpregs = &copy.__fpregs_mem;
    copy.__fpregs_mem = *context->uc_mcontext.fpregs;
    next_setcontext.get()(&copy);
    if (errno != EFAULT) break;
  }
  return -1;
}

// Registers are already saved in `context`. Without a second context the caller continues.
extern "C" __attribute__((visibility("hidden"))) int musubi_leave_context(ucontext_t* context,
                                                                          const ucontext_t* next) {
  sigset_t mask{};
  set_mask(SIG_SETMASK, nullptr, &mask);
  __builtin_memcpy(&context->uc_sigmask, &mask, sizeof(unsigned long));
  return next == nullptr ? 0 : musubi_enter_context(next);
}

// Saves the caller's state after the function has returned 0 to it.
#define MUSUBI_SAVE_AND(function_of_the_rest)                                                  \
  __asm__ volatile(                                                                            \
      "movq %%rbx, %c[rbx](%%rdi)\n movq %%rbp, %c[rbp](%%rdi)\n movq %%r12, %c[r12](%%rdi)\n" \
      "movq %%r13, %c[r13](%%rdi)\n movq %%r14, %c[r14](%%rdi)\n movq %%r15, %c[r15](%%rdi)\n" \
      "movq %%rdi, %c[rdi](%%rdi)\n movq %%rsi, %c[rsi](%%rdi)\n movq %%rdx, %c[rdx](%%rdi)\n" \
      "movq %%rcx, %c[rcx](%%rdi)\n movq %%r8, %c[r8](%%rdi)\n movq %%r9, %c[r9](%%rdi)\n"     \
      "movq (%%rsp), %%rax\n movq %%rax, %c[rip](%%rdi)\n"                                     \
      "leaq 8(%%rsp), %%rax\n movq %%rax, %c[rsp](%%rdi)\n"                                    \
      "leaq %c[state](%%rdi), %%rax\n movq %%rax, %c[fpregs](%%rdi)\n"                         \
      "fnstenv (%%rax)\n fldenv (%%rax)\n stmxcsr %c[mxcsr](%%rdi)\n"                          \
      "jmp " function_of_the_rest                                                              \
      :                                                                                        \
      : [rbx] "i"(offset_of_register(REG_RBX)), [rbp] "i"(offset_of_register(REG_RBP)),        \
        [r12] "i"(offset_of_register(REG_R12)), [r13] "i"(offset_of_register(REG_R13)),        \
        [r14] "i"(offset_of_register(REG_R14)), [r15] "i"(offset_of_register(REG_R15)),        \
        [rdi] "i"(offset_of_register(REG_RDI)), [rsi] "i"(offset_of_register(REG_RSI)),        \
        [rdx] "i"(offset_of_register(REG_RDX)), [rcx] "i"(offset_of_register(REG_RCX)),        \
        [r8] "i"(offset_of_register(REG_R8)), [r9] "i"(offset_of_register(REG_R9)),            \
        [rip] "i"(offset_of_register(REG_RIP)), [rsp] "i"(offset_of_register(REG_RSP)),        \
        [fpregs] "i"(offsetof(ucontext_t, uc_mcontext.fpregs)),                                \
        [state] "i"(offsetof(ucontext_t, __fpregs_mem)),                                       \
        [mxcsr] "i"(offsetof(ucontext_t, __fpregs_mem.mxcsr)))

extern "C" __attribute__((visibility("default"), naked)) int save_context(ucontext_t*) __asm__("getcontext");
int save_context(ucontext_t*) {
  MUSUBI_SAVE_AND("1f\n 1: xorl %%esi, %%esi\n jmp musubi_leave_context");
}
extern "C" __attribute__((visibility("default"), naked)) int swap_context(
    ucontext_t*, const ucontext_t*) __asm__("swapcontext");
int swap_context(ucontext_t*, const ucontext_t*) {
  MUSUBI_SAVE_AND("musubi_leave_context");
}
MUSUBI_EXPORT int setcontext(const ucontext_t* context) noexcept {
  return musubi_enter_context(context);
}

// A context's function returns here, with the address of the next context in rbx.
extern "C" __attribute__((visibility("hidden"), naked)) void musubi_end_context() {
  __asm__ volatile(
      ".cfi_undefined rip\n movq (%rbx), %rdi\n movq %rbx, %rsp\n andq $-16, %rsp\n testq %rdi, %rdi\n"
      "je 1f\n call musubi_enter_context\n movl %eax, %edi\n 1: call exit\n hlt");
}

MUSUBI_EXPORT void makecontext(ucontext_t* context, void (*function)(), int count, ...) noexcept {
  constexpr int in_registers = 6;
  constexpr int registers[in_registers] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};
  const int on_stack = count > in_registers ? count - in_registers : 0;
  constexpr std::uintptr_t alignment = 16;
  auto top = reinterpret_cast<std::uintptr_t>(context->uc_stack.ss_sp) + context->uc_stack.ss_size;
  // The next context is stored above the arguments, the return address below them, as after a call.
  top -= (static_cast<std::uintptr_t>(on_stack) + 1) * sizeof(greg_t);
  auto* const stack = reinterpret_cast<greg_t*>((top & -alignment) - sizeof(greg_t));
  greg_t* const values = context->uc_mcontext.gregs;
  stack[0] = reinterpret_cast<greg_t>(&musubi_end_context);
  stack[1 + on_stack] = reinterpret_cast<greg_t>(context->uc_link);
  values[REG_RIP] = reinterpret_cast<greg_t>(function);
  values[REG_RBX] = reinterpret_cast<greg_t>(&stack[1 + on_stack]);
  values[REG_RSP] = reinterpret_cast<greg_t>(stack);
  va_list arguments;
  va_start(arguments, count);
  for (int i = 0; i < count; ++i) {
    (i < in_registers ? values[registers[i]] : stack[1 + i - in_registers]) = va_arg(arguments, greg_t);
  }
  va_end(arguments);
}
