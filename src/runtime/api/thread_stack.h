// The shared stack of the calling thread. Front ends, and the heap below them, report its used depth before a
// release.
#pragma once

#include "runtime/api/threads.h"

namespace musubi::runtime {

// Registers a stack of the shared range as the calling thread's. `end`, in [stack.low, stack.high]: no other
// thread knows an address above it. `threads` outlives the thread's last note_stack.
void adopt_stack(Threads& threads, const ThreadStack& stack, const void* end);

// In a child made by fork: stops the reports for the calling thread's stack.
void forget_stack() noexcept;

// Reports the used depth of the calling thread's stack before a release: called on entry from the program
// with the address of the frame. No effect for frames elsewhere (a handler on its own stack) or threads
// without a shared stack. Signal-safe; never blocks.
void note_stack(const void* frame) noexcept;

}  // namespace musubi::runtime
