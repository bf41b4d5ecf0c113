// The limits of this process (setrlimit), and what a rank needs.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "runtime/start/reservation.h"

namespace musubi::runtime {

// Error: a limit that a shell, a batch system or a program in front has set allows less than a rank reserves;
// says which, and what to do.
Result<void> fits_limits(const Reservation& reservation);

// Raises the soft limit of open files by what a rank of so many needs itself, up to the hard limit.
void raise_open_files(std::uint32_t ranks);

}  // namespace musubi::runtime
