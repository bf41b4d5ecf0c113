// LLVM's additions to the API, in C and in Fortran: memory, affinity masks, and settings that have no meaning
// here and are kept as they are.
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "omp/allocators.h"
#include "omp/cancellation.h"
#include "omp/entry.h"
#include "omp/job.h"
#include "omp/shared_memory.h"

using namespace musubi::omp;

namespace {

constexpr AllocatorHandle default_memory = 1;

// kmp_affinity_mask_t points to one.
using Mask = cpu_set_t;

int change_mask(int processor, void** mask, bool in_it) {
  if (processor < 0 || processor >= CPU_SETSIZE || mask == nullptr || *mask == nullptr) return -1;
  auto* set = static_cast<Mask*>(*mask);
  if (in_it) {
    CPU_SET(processor, set);
  } else {
    CPU_CLR(processor, set);
  }
  return 0;
}

std::size_t stack_bytes() {
  const Job* const job = Job::current();
  return job != nullptr ? job->runtime.settings().stack_bytes : 0;
}

}  // namespace

extern "C" {

// Memory; each has a name for Fortran, and one that does not begin with omp's prefix.
MUSUBI_EXPORT void* kmp_malloc(std::size_t bytes) {
  return allocate(1, bytes, default_memory);
}
MUSUBI_EXPORT void* kmp_aligned_malloc(std::size_t bytes, std::size_t alignment) {
  return allocate(alignment, bytes, default_memory);
}
MUSUBI_EXPORT void* kmp_calloc(std::size_t count, std::size_t bytes) {
  return allocate_zeroed(1, count, bytes, default_memory);
}
MUSUBI_EXPORT void* kmp_realloc(void* address, std::size_t bytes) {
  return reallocate(address, bytes, 0);
}
MUSUBI_EXPORT void kmp_free(void* address) {
  free_allocation(address);
}
MUSUBI_EXPORT void* kmp_malloc_(const std::size_t* bytes) {
  return kmp_malloc(*bytes);
}
MUSUBI_EXPORT void* kmp_aligned_malloc_(const std::size_t* bytes, const std::size_t* alignment) {
  return kmp_aligned_malloc(*bytes, *alignment);
}
MUSUBI_EXPORT void* kmp_calloc_(const std::size_t* count, const std::size_t* bytes) {
  return kmp_calloc(*count, *bytes);
}
MUSUBI_EXPORT void* kmp_realloc_(void* const* address, const std::size_t* bytes) {
  return kmp_realloc(*address, *bytes);
}
MUSUBI_EXPORT void kmp_free_(void* const* address) {
  kmp_free(*address);
}
MUSUBI_EXPORT void* kmpc_malloc(std::size_t bytes) {
  return kmp_malloc(bytes);
}
MUSUBI_EXPORT void* kmpc_aligned_malloc(std::size_t bytes, std::size_t alignment) {
  return kmp_aligned_malloc(bytes, alignment);
}
MUSUBI_EXPORT void* kmpc_calloc(std::size_t count, std::size_t bytes) {
  return kmp_calloc(count, bytes);
}
MUSUBI_EXPORT void* kmpc_realloc(void* address, std::size_t bytes) {
  return kmp_realloc(address, bytes);
}
MUSUBI_EXPORT void kmpc_free(void* address) {
  kmp_free(address);
}

// Affinity masks of the calling thread, on its host.
MUSUBI_EXPORT void kmp_create_affinity_mask(void** mask) {
  *mask = allocate_shared_zeroed(alignof(Mask), sizeof(Mask));
}
MUSUBI_EXPORT void kmp_destroy_affinity_mask(void** mask) {
  free_shared(*mask);
  *mask = nullptr;
}
MUSUBI_EXPORT int kmp_set_affinity(void** mask) {
  return ::sched_setaffinity(0, sizeof(Mask), static_cast<const Mask*>(*mask)) == 0 ? 0 : errno;
}
MUSUBI_EXPORT int kmp_get_affinity(void** mask) {
  return ::sched_getaffinity(0, sizeof(Mask), static_cast<Mask*>(*mask)) == 0 ? 0 : errno;
}
MUSUBI_EXPORT int kmp_get_affinity_max_proc() {
  return CPU_SETSIZE;
}
MUSUBI_EXPORT int kmp_set_affinity_mask_proc(int processor, void** mask) {
  return change_mask(processor, mask, true);
}
MUSUBI_EXPORT int kmp_unset_affinity_mask_proc(int processor, void** mask) {
  return change_mask(processor, mask, false);
}
MUSUBI_EXPORT int kmp_get_affinity_mask_proc(int processor, void** mask) {
  if (processor < 0 || processor >= CPU_SETSIZE || mask == nullptr || *mask == nullptr) return -1;
  return CPU_ISSET(processor, static_cast<const Mask*>(*mask)) ? 1 : 0;
}
#define MUSUBI_MASK(name)                         \
  MUSUBI_EXPORT void kmp_##name##_(void** mask) { \
    kmp_##name(mask);                             \
  }
#define MUSUBI_MASK_RESULT(name)                 \
  MUSUBI_EXPORT int kmp_##name##_(void** mask) { \
    return kmp_##name(mask);                     \
  }
#define MUSUBI_MASK_PROCESSOR(name)                                    \
  MUSUBI_EXPORT int kmp_##name##_(const int* processor, void** mask) { \
    return kmp_##name(*processor, mask);                               \
  }                                                                    \
  MUSUBI_EXPORT int kmpc_##name(int processor, void** mask) {          \
    return kmp_##name(processor, mask);                                \
  }
MUSUBI_MASK(create_affinity_mask)
MUSUBI_MASK(destroy_affinity_mask)
MUSUBI_MASK_RESULT(set_affinity)
MUSUBI_MASK_RESULT(get_affinity)
MUSUBI_MASK_PROCESSOR(set_affinity_mask_proc)
MUSUBI_MASK_PROCESSOR(unset_affinity_mask_proc)
MUSUBI_MASK_PROCESSOR(get_affinity_mask_proc)
MUSUBI_EXPORT int kmp_get_affinity_max_proc_() {
  return kmp_get_affinity_max_proc();
}
MUSUBI_EXPORT void kmp_set_thread_affinity_mask_initial() {}

// Stacks are as large as MUSUBI_STACK_BYTES says, and threads wait as MUSUBI_SPIN_CHECKS says.
MUSUBI_EXPORT std::size_t kmp_get_stacksize_s() {
  return stack_bytes();
}
MUSUBI_EXPORT std::size_t kmp_get_stacksize_s_() {
  return stack_bytes();
}
MUSUBI_EXPORT int kmp_get_stacksize() {
  return static_cast<int>(std::min<std::size_t>(stack_bytes(), 0x7fffffff));
}
MUSUBI_EXPORT int kmp_get_stacksize_() {
  return kmp_get_stacksize();
}
MUSUBI_EXPORT int kmp_get_blocktime() {
  return 0;
}
MUSUBI_EXPORT int kmp_get_blocktime_() {
  return 0;
}
MUSUBI_EXPORT int kmp_get_library() {
  constexpr int throughput = 2;
  return throughput;
}
MUSUBI_EXPORT int kmp_get_library_() {
  return kmp_get_library();
}
MUSUBI_EXPORT int kmp_get_num_known_threads() {
  const Job* const job = Job::current();
  return job != nullptr ? static_cast<int>(job->team.threads().all()) : 1;
}
MUSUBI_EXPORT int kmp_get_num_known_threads_() {
  return kmp_get_num_known_threads();
}
// The kinds of __kmpc_cancel; 0: none.
MUSUBI_EXPORT int kmp_get_cancellation_status(int kind) {
  constexpr int region = 1, loop = 2, sections = 3, taskgroup = 4;
  if (kind == region) return cancellation_point(implicit_task(), Cancellable::region);
  if (kind == loop || kind == sections) return cancellation_point(implicit_task(), Cancellable::loop);
  return kind == taskgroup ? cancellation_point(implicit_task(), Cancellable::taskgroup) : 0;
}
MUSUBI_EXPORT int kmp_get_cancellation_status_(const int* kind) {
  return kmp_get_cancellation_status(*kind);
}

// Their arguments have no use.
#define MUSUBI_IGNORED(name) \
  MUSUBI_EXPORT void name() {}
MUSUBI_IGNORED(kmp_set_stacksize)
MUSUBI_IGNORED(kmp_set_stacksize_)
MUSUBI_IGNORED(kmp_set_stacksize_s)
MUSUBI_IGNORED(kmp_set_stacksize_s_)
MUSUBI_IGNORED(kmpc_set_stacksize)
MUSUBI_IGNORED(kmpc_set_stacksize_s)
MUSUBI_IGNORED(kmp_set_blocktime)
MUSUBI_IGNORED(kmp_set_blocktime_)
MUSUBI_IGNORED(kmpc_set_blocktime)
MUSUBI_IGNORED(kmp_set_library)
MUSUBI_IGNORED(kmp_set_library_)
MUSUBI_IGNORED(kmpc_set_library)
MUSUBI_IGNORED(kmp_set_library_serial)
MUSUBI_IGNORED(kmp_set_library_serial_)
MUSUBI_IGNORED(kmp_set_library_throughput)
MUSUBI_IGNORED(kmp_set_library_throughput_)
MUSUBI_IGNORED(kmp_set_library_turnaround)
MUSUBI_IGNORED(kmp_set_library_turnaround_)
MUSUBI_IGNORED(kmp_set_defaults)
MUSUBI_IGNORED(kmp_set_defaults_)
MUSUBI_IGNORED(kmpc_set_defaults)
MUSUBI_IGNORED(kmp_set_disp_num_buffers)
MUSUBI_IGNORED(kmp_set_disp_num_buffers_)
MUSUBI_IGNORED(kmpc_set_disp_num_buffers)
MUSUBI_IGNORED(kmp_set_warnings_on)
MUSUBI_IGNORED(kmp_set_warnings_on_)
MUSUBI_IGNORED(kmp_set_warnings_off)
MUSUBI_IGNORED(kmp_set_warnings_off_)

extern MUSUBI_EXPORT const AllocatorHandle kmp_max_mem_alloc;
const AllocatorHandle kmp_max_mem_alloc = 1024;

}  // extern "C"
