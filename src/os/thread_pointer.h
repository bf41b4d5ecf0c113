// The register that points to a thread's own data. Architecture-specific, like touch.h.
#pragma once

#include <cstdint>

namespace musubi::os {

std::uintptr_t thread_pointer() noexcept;

// Switches the calling thread to another thread's data: the C library takes it for that thread from now on.
// The owner of the data no longer runs in this process. Signal-safe.
void set_thread_pointer(std::uintptr_t pointer) noexcept;

}  // namespace musubi::os
