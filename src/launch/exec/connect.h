// Connects the processes of another launcher's ranks to that of rank 0, by TCP. Both ends first prove that
// they know the job's secret (fabric/handshake/handshake.h).
#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "launch/exec/rendezvous.h"
#include "os/memory.h"

namespace musubi::launch {

// On rank 0: blocks until all other ranks have called, then stops listening. Result: sockets by rank; rank 0
// has none. Errors: the message names the ranks that have not called.
Result<std::vector<os::FileDescriptor>> await_ranks(Rendezvous& meeting, std::chrono::nanoseconds patience);

// On all other ranks: blocks until rank 0 has answered. Errors: it cannot be reached.
Result<os::FileDescriptor> call_rank_zero(const Rendezvous& meeting, std::chrono::nanoseconds patience);

}  // namespace musubi::launch
