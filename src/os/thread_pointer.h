// The register by which a thread finds its own data. Architecture-specific, like touch.h.
#pragma once

#include <cstdint>

namespace musubi::os {

// The calling thread's.
std::uintptr_t thread_pointer() noexcept;

// Makes the calling thread find another thread's data: it is that thread from here on for the C library. The
// data's owner runs no more in this process. Signal-safe.
void set_thread_pointer(std::uintptr_t pointer) noexcept;

}  // namespace musubi::os
