// What a signal handler can learn from the processor's state at the interrupted instruction. The one place
// that knows the processor.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace musubi::os {

enum class FaultAccess : std::uint8_t { read, write, execute };

struct FaultContext {
  std::uintptr_t program_counter;
  std::uintptr_t stack_pointer;
  FaultAccess access;  // meaningful for faults of memory only
};

// Any thread, also inside a signal handler. `context` is the third argument of an SA_SIGINFO handler.
FaultContext fault_context(const ucontext_t& context) noexcept;

}  // namespace musubi::os
