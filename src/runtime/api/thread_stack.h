// The shared stack that the calling thread runs on. Front ends, and the heap below them, say how deep it is
// in use before they release.
#pragma once

#include "runtime/api/threads.h"

namespace musubi::runtime {

// Makes a stack of the shared range known as the calling thread's. `end`, in [stack.low, stack.high]: no
// other thread may know of what lies above. `threads` outlives the thread's last note_stack.
void adopt_stack(Threads& threads, const ThreadStack& stack, const void* end);

// In a child made by fork: the calling thread's stack needs no notes any more.
void forget_stack() noexcept;

// Tells the runtime how deep the stack of the calling thread is in use, before anything is released: called
// on entry from the program with the address of the frame. Frames elsewhere (a handler on its own stack)
// change nothing, as do threads without a shared stack. Signal-safe; never blocks.
void note_stack(const void* frame) noexcept;

}  // namespace musubi::runtime
