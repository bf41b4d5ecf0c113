// The C library's functions that this library interposes.
#pragma once

#include "image/process/call_as.h"

namespace musubi::image {

// The next definition of `name` after this library's, or null. Not in a signal handler.
void* next_definition(const char* name) noexcept;

// The C library's dlsym.
LookUp c_library_dlsym() noexcept;

// Ends this process at once through the kernel's exit_group, past every wrapper. Signal-safe.
[[noreturn]] void exit_process(int status) noexcept;

}  // namespace musubi::image
