// Record locks (fcntl F_SETLK and its variants), which belong to a process: one rank of each host holds them
// for all ranks of the host.
#pragma once

#include "image/start/job.h"

namespace musubi::image {

// Whether fcntl(2) with this command concerns a lock of the process.
bool is_of_record_lock(int command) noexcept;

// As fcntl(file, command, argument). REQUIRES: is_of_record_lock(command), the file is open on this host and
// usable. Blocks as fcntl does, but polls, and detects no deadlock.
int lock_record(Job& job, int file, int command, void* argument) noexcept;

}  // namespace musubi::image
