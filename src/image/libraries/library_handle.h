// Handles of opened libraries that mean the same on all ranks. The C library's handles are addresses of its
// own data, which differ between ranks. The program gets the address of a copy of their public part instead,
// at an address that is the same on all ranks.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace musubi::image {

// Makes handles for these objects on pages from `next` on, and moves `next` past them. One thread at a time.
// False: the addresses are in use.
bool make_handles(const std::vector<link_map*>& objects, std::uintptr_t& next);

// From the C library's handle to the job's, and back. A handle unknown to the job is returned unchanged. Any
// thread.
void* handle_of_job(void* handle) noexcept;
void* handle_of_process(void* handle) noexcept;

}  // namespace musubi::image
