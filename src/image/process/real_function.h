// The C library's functions that this library interposes, and symbols of one library, without the dynamic
// linker's search order.
#pragma once

#include <link.h>

#include "image/process/call_as.h"

namespace musubi::image {

// The next definition of `name` after this library's, or null. Not in a signal handler.
void* next_definition(const char* name) noexcept;

// The C library's dlsym.
LookUp c_library_dlsym() noexcept;

// Ends this process at once through the kernel's exit_group, past every wrapper. Signal-safe.
[[noreturn]] void exit_process(int status) noexcept;

// The address of the symbol of that name that `object` exports, or null. Ignores versions and does not call
// the resolver of an indirect function. Allocates nothing.
void* exported_address(const link_map& object, const char* name);

}  // namespace musubi::image
