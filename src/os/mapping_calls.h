// mmap and related calls of the kernel. The runtime exports its own versions to the program; mappings of this
// process alone must not go through those. All as in section 2 of the manual, with errors in errno. Any
// thread, also inside a signal handler.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace musubi::os {

void* map_pages(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept;
int unmap_pages(void* address, std::size_t bytes) noexcept;
// `wanted` is used only if `flags` has MREMAP_FIXED.
void* move_pages(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                 void* wanted) noexcept;
int protect_pages(void* address, std::size_t bytes, int protection) noexcept;
int advise_pages(void* address, std::size_t bytes, int advice) noexcept;
int synchronise_pages(void* address, std::size_t bytes, int flags) noexcept;
int resident_pages(void* address, std::size_t bytes, unsigned char* result) noexcept;
int lock_pages(const void* address, std::size_t bytes, unsigned flags) noexcept;
int unlock_pages(const void* address, std::size_t bytes) noexcept;

}  // namespace musubi::os
