// musubi.h: conditions.
#include "base/export.h"
#include "c_api/job.h"
#include "musubi/musubi.h"

using musubi::ConditionId;
using musubi::LockId;
using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::runtime::Coordination;

static_assert(MUSUBI_COND_COUNT == Coordination::condition_count);

namespace {

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
