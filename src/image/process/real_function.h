// The functions of the C library that stand behind the ones that are interposed.
#pragma once

#include "image/process/call_as.h"

namespace musubi::image {

// The next definition of `name` behind this library's, or null. Not in a signal handler.
void* next_definition(const char* name) noexcept;

// dlsym itself.
LookUp c_library_dlsym() noexcept;

// Ends this process at once: the kernel's exit_group, past every wrapper. Signal-safe.
[[noreturn]] void exit_process(int status) noexcept;

}  // namespace musubi::image
