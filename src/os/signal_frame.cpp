#include "os/signal_frame.h"

#include <sys/syscall.h>

#include <cstring>

#include "os/signal_calls.h"

namespace musubi::os {

#if !defined(__x86_64__)
#error "say here what the kernel puts on the stack of a handler"
#endif

namespace {

// The kernel's context is smaller: its mask has 8 bytes, and other data follows.
constexpr std::size_t kernel_context_bytes = offsetof(ucontext_t, uc_sigmask) + sizeof(SignalBits);
constexpr std::uintptr_t red_zone_bytes = 128, registers_alignment = 64, stack_alignment = 16;

// The size of the floating-point registers, with the mark after them.
std::size_t bytes_of_registers(const ucontext_t& context) noexcept {
  struct Extension {  // the last words of the part that every processor has
    std::uint32_t mark, bytes;
  } extension;
  constexpr std::size_t extension_at = 464, plain_bytes = 512;
  constexpr std::uint32_t has_extension = 0x46505853;
  const auto* const registers = reinterpret_cast<const std::byte*>(context.uc_mcontext.fpregs);
  if (registers == nullptr) return 0;
  std::memcpy(&extension, registers + extension_at, sizeof extension);
  return extension.mark == has_extension ? extension.bytes : plain_bytes;
}

// Copies the context, and its registers to `registers`.
void copy_context(ucontext_t& to, const ucontext_t& from, std::byte* registers) noexcept {
  std::memcpy(&to, &from, kernel_context_bytes);
  const std::size_t bytes = bytes_of_registers(from);
  if (bytes == 0) return;
  std::memcpy(registers, from.uc_mcontext.fpregs, bytes);
  to.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(registers);
}

}  // namespace

void move_signal_frame(std::uintptr_t top, const siginfo_t& information, ucontext_t& context,
                       void (*function)(SignalFrame&)) noexcept {
  constexpr greg_t direction_flag = 0x400, trap_flag = 0x100, resume_flag = 0x10000;
  greg_t* const general = context.uc_mcontext.gregs;
  if (top == 0) top = static_cast<std::uintptr_t>(general[REG_RSP]) - red_zone_bytes;
  const std::uintptr_t registers = (top - bytes_of_registers(context)) & ~(registers_alignment - 1);
  // As after a call: the return address is one word below a multiple of the alignment.
  const std::uintptr_t place =
      ((registers - sizeof(SignalFrame)) & ~(stack_alignment - 1)) - sizeof(SignalFrame::return_address);
  auto& frame = *reinterpret_cast<SignalFrame*>(place);
  frame.return_address = end_of_handlers();
  std::memset(&frame.context, 0, sizeof frame.context);
  copy_context(frame.context, context, reinterpret_cast<std::byte*>(registers));
  frame.information = information;
  const SignalBits blocked = set_signal_mask(SIG_BLOCK, 0);
  std::memcpy(&context.uc_sigmask, &blocked, sizeof blocked);
  context.uc_mcontext.fpregs = nullptr;  // the kernel's defaults
  general[REG_RSP] = static_cast<greg_t>(place);
  general[REG_RIP] = reinterpret_cast<greg_t>(function);
  general[REG_RDI] = static_cast<greg_t>(place);
  general[REG_EFL] &= ~(direction_flag | trap_flag | resume_flag);
}

void return_from_signal(const SignalFrame& frame, std::byte* memory, const stack_t& handled_on) noexcept {
  const std::uintptr_t registers =
      (reinterpret_cast<std::uintptr_t>(memory) + sizeof(ucontext_t) + registers_alignment) &
      ~(registers_alignment - 1);
  auto& context = *reinterpret_cast<ucontext_t*>(memory);
  copy_context(context, frame.context, reinterpret_cast<std::byte*>(registers));
  context.uc_stack = handled_on;
  asm volatile("movq %0, %%rsp\n movl %1, %%eax\n syscall\n hlt"
               :
               : "r"(memory), "i"(SYS_rt_sigreturn)
               : "memory");
  __builtin_unreachable();
}

#if defined(__x86_64__)

FaultContext fault_context(const ucontext_t& context) noexcept {
  // Error code of the page fault (Intel SDM volume 3, 4.7): bit 1 = write, bit 4 = instruction fetch.
  constexpr greg_t write_bit = 1 << 1;
  constexpr greg_t fetch_bit = 1 << 4;
  const auto& registers = context.uc_mcontext.gregs;
  FaultAccess access = FaultAccess::read;
  if (registers[REG_ERR] & fetch_bit) {
    access = FaultAccess::execute;
  } else if (registers[REG_ERR] & write_bit) {
    access = FaultAccess::write;
  }
  return FaultContext{static_cast<std::uintptr_t>(registers[REG_RIP]),
                      static_cast<std::uintptr_t>(registers[REG_RSP]), access};
}

#else
#error \
    "say here how this processor reports the address of the instruction, the stack pointer and read or write"
#endif

}  // namespace musubi::os
