// What the kernel puts on a stack when it calls a handler, moved to another stack: the handler runs there,
// and the stack on which the kernel called is free until then.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace musubi::os {

// At the top of the handler's stack, laid out as the kernel does: unwinders find what was interrupted.
struct SignalFrame {
  const void* return_address;
  ucontext_t context;
  siginfo_t information;
};

// Enough for the context and the registers of any processor, by far.
inline constexpr std::size_t signal_return_bytes = 32 * 1024;

// Inside a handler that the kernel has called, with its arguments: once that returns, the thread runs
// `function` on the stack below `top` (0: below what was interrupted), with the signals blocked that are now,
// and registers for numbers as a handler finds them. `function` does not return. May fault at the new stack.
void move_signal_frame(std::uintptr_t top, const siginfo_t& information, ucontext_t& context,
                       void (*function)(SignalFrame&)) noexcept;

// Goes on with what the frame's context says, by way of `memory` (signal_return_bytes; no page of it is ever
// closed). `handled_on`: the stack for handlers, which the frame may not know. The caller blocks signals
// whose handlers could come here, too.
[[noreturn]] void return_from_signal(const SignalFrame& frame, std::byte* memory,
                                     const stack_t& handled_on) noexcept;

}  // namespace musubi::os
