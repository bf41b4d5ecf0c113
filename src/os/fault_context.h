// The state of the interrupted instruction, as a signal handler can read it. The only place that knows the
// processor's layout of it.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace musubi::os {

enum class FaultAccess : std::uint8_t { read, write, execute };

struct FaultContext {
  std::uintptr_t program_counter;
  std::uintptr_t stack_pointer;
  FaultAccess access;  // meaningful for memory faults only
};

// Any thread, also inside a signal handler. `context` is the third argument of an SA_SIGINFO handler.
FaultContext fault_context(const ucontext_t& context) noexcept;

}  // namespace musubi::os
