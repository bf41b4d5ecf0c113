// Handles of opened libraries that mean the same at all ranks. The C library's handles are addresses of its
// own data, which differ. So the program gets the address of a copy of their public part, at a place that all
// ranks have.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace musubi::image {

// Makes handles for these objects on pages from `next` on, which is moved behind them. One thread at a time.
// False: the addresses are in use.
bool make_handles(const std::vector<link_map*>& objects, std::uintptr_t& next);

// From the C library's handle to the job's, and back. What has no handle of the job stays as it is. Any
// thread.
void* handle_of_job(void* handle) noexcept;
void* handle_of_process(void* handle) noexcept;

}  // namespace musubi::image
