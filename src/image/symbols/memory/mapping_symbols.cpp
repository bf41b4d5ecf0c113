// mmap's family and the program's break. Calls of the C library, of the dynamic linker and of this library
// concern this process only: they go to the kernel unchanged, as all calls do in a job of one rank.
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>

#include "heap/heap.h"
#include "image/memory/mappings.h"
#include "image/start/job.h"
#include "image/symbols/calling_library.h"
#include "image/symbols/exported.h"
#include "os/mapping_calls.h"

namespace {

using musubi::heap::process_heap;
using namespace musubi::image;
namespace os = musubi::os;

// Null if the call goes to the kernel unchanged. Signal-safe, and usable before any constructor has run.
Job* job_for(const void* caller) {
  Job* const job = current_job();
  return job == nullptr || job->runtime.ranks() == 1 || !process_heap.serves(caller) ? nullptr : job;
}
Mappings* mappings_for(const void* caller) {
  Job* const job = job_for(caller);
  return job == nullptr ? nullptr : &job->mappings;
}

void* map(void* wanted, size_t bytes, int protection, int flags, int file, off_t offset, const void* caller) {
  Job* const job = job_for(caller);
  // Mappings of private libraries such as drivers stay private to this process.
  if (job != nullptr && !is_in_private_library(*job, caller)) {
    if ((flags & MAP_ANONYMOUS) == 0) job->descriptors.make_usable(file);
    return job->mappings.map({wanted, bytes, protection, flags, file, offset});
  }
  return os::map_pages(wanted, bytes, protection, flags, file, offset);
}

int advise(void* address, size_t bytes, int advice, const void* caller) {
  Mappings* const mappings = mappings_for(caller);
  return mappings != nullptr ? mappings->advise(address, bytes, advice)
                             : os::advise_pages(address, bytes, advice);
}

constinit musubi::image::Next<void* (*)(intptr_t)> next_sbrk("sbrk");
constinit musubi::image::Next<int (*)(void*)> next_brk("brk");

}  // namespace

MUSUBI_EXPORT void* mmap(void* wanted, size_t bytes, int protection, int flags, int file,
                         off_t offset) noexcept {
  return map(wanted, bytes, protection, flags, file, offset, MUSUBI_CALLER);
}
MUSUBI_EXPORT void* mmap64(void* wanted, size_t bytes, int protection, int flags, int file,
                           off64_t offset) noexcept {
  return map(wanted, bytes, protection, flags, file, offset, MUSUBI_CALLER);
}

MUSUBI_EXPORT int munmap(void* address, size_t bytes) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->unmap(address, bytes) : os::unmap_pages(address, bytes);
}

MUSUBI_EXPORT void* mremap(void* address, size_t old_bytes, size_t new_bytes, int flags, ...) noexcept {
  void* wanted = nullptr;
  if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    wanted = va_arg(arguments, void*);
    va_end(arguments);
  }
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->remap(address, old_bytes, new_bytes, flags, wanted)
                             : os::move_pages(address, old_bytes, new_bytes, flags, wanted);
}

MUSUBI_EXPORT int mprotect(void* address, size_t bytes, int protection) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->protect(address, bytes, protection)
                             : os::protect_pages(address, bytes, protection);
}

MUSUBI_EXPORT int madvise(void* address, size_t bytes, int advice) noexcept {
  return advise(address, bytes, advice, MUSUBI_CALLER);
}
// Returns the error; glibc's POSIX_MADV_DONTNEED discards no data.
MUSUBI_EXPORT int posix_madvise(void* address, size_t bytes, int advice) noexcept {
  if (advice == POSIX_MADV_DONTNEED) return 0;
  const int kept_errno = errno;
  const int error = advise(address, bytes, advice, MUSUBI_CALLER) == 0 ? 0 : errno;
  errno = kept_errno;
  return error;
}

MUSUBI_EXPORT int msync(void* address, size_t bytes, int flags) {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->synchronise(address, bytes, flags)
                             : os::synchronise_pages(address, bytes, flags);
}

MUSUBI_EXPORT int mincore(void* address, size_t bytes, unsigned char* result) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->resident(address, bytes, result)
                             : os::resident_pages(address, bytes, result);
}

namespace {
int lock(const void* address, size_t bytes, unsigned flags, const void* caller) {
  Mappings* const mappings = mappings_for(caller);
  return mappings != nullptr ? mappings->lock(address, bytes, flags) : os::lock_pages(address, bytes, flags);
}
}  // namespace

MUSUBI_EXPORT int mlock(const void* address, size_t bytes) noexcept {
  return lock(address, bytes, 0, MUSUBI_CALLER);
}
MUSUBI_EXPORT int mlock2(const void* address, size_t bytes, unsigned flags) noexcept {
  return lock(address, bytes, flags, MUSUBI_CALLER);
}
MUSUBI_EXPORT int munlock(const void* address, size_t bytes) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->unlock(address, bytes) : os::unlock_pages(address, bytes);
}
// Locking all pages would allocate every page of the shared space.
MUSUBI_EXPORT int mlockall(int flags) noexcept {
  static constinit musubi::image::Next<int (*)(int)> next("mlockall");
  return mappings_for(MUSUBI_CALLER) != nullptr ? 0 : next.get()(flags);
}

MUSUBI_EXPORT void* sbrk(intptr_t bytes) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->move_break(bytes) : next_sbrk.get()(bytes);
}
MUSUBI_EXPORT int brk(void* end) noexcept {
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->set_break(end) : next_brk.get()(end);
}

MUSUBI_EXPORT void* shmat(int segment, const void* wanted, int flags) noexcept {
  static constinit musubi::image::Next<void* (*)(int, const void*, int)> next("shmat");
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->attach(segment, wanted, flags) : next.get()(segment, wanted, flags);
}
MUSUBI_EXPORT int shmdt(const void* address) noexcept {
  static constinit musubi::image::Next<int (*)(const void*)> next("shmdt");
  Mappings* const mappings = mappings_for(MUSUBI_CALLER);
  return mappings != nullptr ? mappings->detach(address) : next.get()(address);
}
