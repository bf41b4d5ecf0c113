// Moves the frame that the kernel pushes for a signal handler to another stack: the handler continues there,
// and the stack on which the kernel called it is free until it returns.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace musubi::os {

// The state of the interrupted instruction, as a signal handler can read it. The only place that knows the
// processor's layout of it.
enum class FaultAccess : std::uint8_t { read, write, execute };

struct FaultContext {
  std::uintptr_t program_counter;
  std::uintptr_t stack_pointer;
  FaultAccess access;  // meaningful for memory faults only
};

// Any thread, also inside a signal handler. `context` is the third argument of an SA_SIGINFO handler.
FaultContext fault_context(const ucontext_t& context) noexcept;

// At the top of the handler's stack, in the kernel's layout: unwinders find the interrupted code.
struct SignalFrame {
  const void* return_address;
  ucontext_t context;
  siginfo_t information;
};

// Enough for the context and the registers of any processor, by far.
inline constexpr std::size_t signal_return_bytes = 32 * 1024;

// Called inside a signal handler, with the handler's arguments: when that handler returns, the thread runs
// `function` on the stack below `top` (0: below the interrupted frame), with the current signal mask, and
// with floating-point registers as a handler finds them. `function` does not return. May fault at the new
// stack.
void move_signal_frame(std::uintptr_t top, const siginfo_t& information, ucontext_t& context,
                       void (*function)(SignalFrame&)) noexcept;

// Resumes the frame's context, by way of `memory` (signal_return_bytes; its pages are always mapped).
// `handled_on`: the stack for handlers, which the frame may lack. The caller also blocks signals whose
// handlers could reach this function.
[[noreturn]] void return_from_signal(const SignalFrame& frame, std::byte* memory,
                                     const stack_t& handled_on) noexcept;

}  // namespace musubi::os
