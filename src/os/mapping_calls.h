// mmap and its kin as the kernel has them. The runtime exports its own to the program; what is meant for this
// process alone must not meet them. All as in section 2 of the manual: errno says why it failed. Any thread,
// also inside a signal handler.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace musubi::os {

void* map_pages(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept;
int unmap_pages(void* address, std::size_t bytes) noexcept;
// `wanted` counts only where `flags` has MREMAP_FIXED.
void* move_pages(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                 void* wanted) noexcept;
int protect_pages(void* address, std::size_t bytes, int protection) noexcept;
int advise_pages(void* address, std::size_t bytes, int advice) noexcept;
int synchronise_pages(void* address, std::size_t bytes, int flags) noexcept;
int resident_pages(void* address, std::size_t bytes, unsigned char* result) noexcept;
int lock_pages(const void* address, std::size_t bytes, unsigned flags) noexcept;
int unlock_pages(const void* address, std::size_t bytes) noexcept;

}  // namespace musubi::os
