// musubi.h: shared memory.
#include "base/export.h"
#include "c_api/job.h"
#include "heap/heap.h"
#include "musubi/musubi.h"

using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::heap::process_heap;

MUSUBI_EXPORT void* musubi_alloc(size_t bytes) {
  if (current_job() == nullptr) return nullptr;
  return process_heap.allocate_shared(bytes);
}

MUSUBI_EXPORT int musubi_free(void* memory) {
  if (current_job() == nullptr) return MUSUBI_ERROR_STATE;
  if (memory == nullptr) return MUSUBI_OK;
  if (!process_heap.is_shared(memory)) return MUSUBI_ERROR_ADDRESS;
  process_heap.release(memory);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_touch(const void* memory, size_t bytes, int writable) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (bytes == 0) return MUSUBI_OK;
  if (!job->is_shared(memory, bytes)) return MUSUBI_ERROR_ADDRESS;
  job->runtime.memory().touch(memory, bytes, writable != 0);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_prefetch(const void* memory, size_t bytes, int writable) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (bytes == 0) return MUSUBI_OK;
  if (!job->is_shared(memory, bytes)) return MUSUBI_ERROR_ADDRESS;
  job->runtime.synchronization().prefetch(memory, bytes, writable != 0);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_release_range(const void* memory, size_t bytes) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (bytes == 0) return MUSUBI_OK;
  if (!job->is_shared(memory, bytes)) return MUSUBI_ERROR_ADDRESS;
  job->runtime.synchronization().release_range(memory, bytes);
  return MUSUBI_OK;
}
