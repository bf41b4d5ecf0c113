// musubi.h: barrier, locks, conditions, flush.
#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "musubi/musubi.h"

using musubi::ConditionId;
using musubi::LockId;
using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::runtime::Coordination;

static_assert(MUSUBI_LOCK_COUNT == musubi::runtime::Synchronization::lock_count);
static_assert(MUSUBI_COND_COUNT == Coordination::condition_count);

namespace {

// `lock_it` returns whether it has taken the lock.
template <class Lock>
int take(std::uint32_t lock, Lock lock_it) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (job->holders.is_mine(lock)) return MUSUBI_ERROR_HELD;
  if (!lock_it(job->runtime.synchronization(), LockId{lock})) return MUSUBI_BUSY;
  job->holders.take(lock);
  return MUSUBI_OK;
}

int wait(std::uint32_t condition, std::uint32_t lock, std::uint64_t timeout_ns) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT || lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (!job->holders.is_mine(lock)) return MUSUBI_ERROR_NOT_HELD;
  job->holders.give_back(lock);
  const bool signalled = job->runtime.coordination().wait(ConditionId{condition}, LockId{lock}, timeout_ns);
  job->holders.take(lock);
  return signalled ? MUSUBI_OK : MUSUBI_TIMEOUT;
}

}  // namespace

MUSUBI_EXPORT int musubi_barrier(void) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  musubi::c_api::meet(job->runtime, musubi::c_api::Call::barrier);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_lock(uint32_t lock) {
  return take(lock, [](musubi::runtime::Synchronization& locks, LockId id) {
    locks.lock(id);
    return true;
  });
}

MUSUBI_EXPORT int musubi_trylock(uint32_t lock) {
  return take(lock, [](musubi::runtime::Synchronization& locks, LockId id) { return locks.try_lock(id); });
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

MUSUBI_EXPORT int musubi_cond_wait(uint32_t condition, uint32_t lock) {
  return wait(condition, lock, Coordination::forever);
}

MUSUBI_EXPORT int musubi_cond_timedwait(uint32_t condition, uint32_t lock, uint64_t timeout_ns) {
  return wait(condition, lock, timeout_ns);
}

MUSUBI_EXPORT int musubi_cond_signal(uint32_t condition) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT) return MUSUBI_ERROR_LOCK;
  job->runtime.coordination().signal(ConditionId{condition});
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_cond_broadcast(uint32_t condition) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT) return MUSUBI_ERROR_LOCK;
  job->runtime.coordination().broadcast(ConditionId{condition});
  return MUSUBI_OK;
}
