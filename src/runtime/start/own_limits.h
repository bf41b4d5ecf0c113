// The limits of this process (setrlimit) against the needs of a rank.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "runtime/start/reservation.h"

namespace musubi::runtime {

// Error: a limit set by a shell, a batch system or a wrapper is less than a rank reserves; the message gives
// limit and remedy.
Result<void> fits_limits(const Reservation& reservation);

// Raises the soft limit on open files by the needs of a rank among `ranks`, up to the hard limit.
void raise_open_files(std::uint32_t ranks);

}  // namespace musubi::runtime
