#include "os/mapping_calls.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace musubi::os {

void* map_pages(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return reinterpret_cast<void*>(::syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset));
}
int unmap_pages(void* address, std::size_t bytes) noexcept {
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}
void* move_pages(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                 void* wanted) noexcept {
  return reinterpret_cast<void*>(::syscall(SYS_mremap, address, old_bytes, new_bytes, flags, wanted));
}
int protect_pages(void* address, std::size_t bytes, int protection) noexcept {
  return static_cast<int>(::syscall(SYS_mprotect, address, bytes, protection));
}
int advise_pages(void* address, std::size_t bytes, int advice) noexcept {
  return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
}
int synchronise_pages(void* address, std::size_t bytes, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_msync, address, bytes, flags));
}
int resident_pages(void* address, std::size_t bytes, unsigned char* result) noexcept {
  return static_cast<int>(::syscall(SYS_mincore, address, bytes, result));
}
int lock_pages(const void* address, std::size_t bytes, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_mlock2, address, bytes, flags));
}
int unlock_pages(const void* address, std::size_t bytes) noexcept {
  return static_cast<int>(::syscall(SYS_munlock, address, bytes));
}

}  // namespace musubi::os
