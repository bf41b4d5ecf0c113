// Connects the processes of another launcher's ranks with that of rank 0, by TCP. Both ends prove the secret
// of the job before anything else (fabric/tcp/handshake.h).
#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "launch/exec/meeting.h"
#include "os/memory.h"

namespace musubi::launch {

// On rank 0: blocks until all others have called; nothing listens any more then. Result: sockets by rank;
// rank 0 has none. Errors: some have not, whose names it tells.
Result<std::vector<os::FileDescriptor>> await_ranks(Meeting& meeting, std::chrono::nanoseconds patience);

// On the others: blocks until rank 0 has answered. Errors: it cannot be reached.
Result<os::FileDescriptor> call_rank_zero(const Meeting& meeting, std::chrono::nanoseconds patience);

}  // namespace musubi::launch
