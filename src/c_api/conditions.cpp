// musubi.h: conditions.
#include "base/export.h"
#include "c_api/process.h"
#include "musubi/musubi.h"

using musubi::ConditionId;
using musubi::LockId;
using musubi::c_api::current_process;
using musubi::c_api::Process;
using musubi::runtime::Coordination;

static_assert(MUSUBI_COND_COUNT == Coordination::condition_count);

namespace {

int wait(std::uint32_t condition, std::uint32_t lock, std::uint64_t timeout_ns) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT || lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (!process->holders.is_mine(lock)) return MUSUBI_ERROR_NOT_HELD;
  process->holders.give_back(lock);
  const bool signalled =
      process->runtime.coordination().wait(ConditionId{condition}, LockId{lock}, timeout_ns);
  process->holders.take(lock);
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
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT) return MUSUBI_ERROR_LOCK;
  process->runtime.coordination().signal(ConditionId{condition});
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_cond_broadcast(uint32_t condition) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (condition >= MUSUBI_COND_COUNT) return MUSUBI_ERROR_LOCK;
  process->runtime.coordination().broadcast(ConditionId{condition});
  return MUSUBI_OK;
}
