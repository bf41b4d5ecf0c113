// musubi.h: barrier, locks, flush.
#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "musubi/musubi.h"

using musubi::LockId;
using musubi::c_api::current_job;
using musubi::c_api::Job;

static_assert(MUSUBI_LOCK_COUNT == musubi::runtime::Synchronization::lock_count);

MUSUBI_EXPORT int musubi_barrier(void) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  musubi::c_api::meet(job->runtime, musubi::c_api::Call::barrier);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_lock(uint32_t lock) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (job->holders.is_mine(lock)) return MUSUBI_ERROR_HELD;
  job->runtime.synchronization().lock(LockId{lock});
  job->holders.take(lock);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_trylock(uint32_t lock) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (job->holders.is_mine(lock)) return MUSUBI_ERROR_HELD;
  if (!job->runtime.synchronization().try_lock(LockId{lock})) return MUSUBI_BUSY;
  job->holders.take(lock);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_unlock(uint32_t lock) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (!job->holders.is_mine(lock)) return MUSUBI_ERROR_NOT_HELD;
  job->holders.give_back(lock);
  job->runtime.synchronization().unlock(LockId{lock});
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_flush(void) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  job->runtime.synchronization().flush();
  return MUSUBI_OK;
}
