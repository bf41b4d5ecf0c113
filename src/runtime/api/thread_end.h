// Ends of threads of the runtime that run code of the program and end before their process does.
#pragma once

#include "runtime/api/threads.h"

namespace musubi::runtime {

// The calling thread, which is attached, is detached when it ends: after its thread-local objects and the
// values of its keys were destroyed, which may touch shared memory. `threads` outlives the thread.
void detach_at_end(Threads& threads) noexcept;

}  // namespace musubi::runtime
