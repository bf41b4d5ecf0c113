// musubi.h: barrier, locks, flush.
#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/process.h"
#include "musubi/musubi.h"

using musubi::LockId;
using musubi::c_api::current_process;
using musubi::c_api::Process;

static_assert(MUSUBI_LOCK_COUNT == musubi::runtime::Synchronization::lock_count);

MUSUBI_EXPORT int musubi_barrier(void) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  musubi::c_api::meet(process->runtime, musubi::c_api::Call::barrier);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_lock(uint32_t lock) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (process->holders.is_mine(lock)) return MUSUBI_ERROR_HELD;
  process->runtime.synchronization().lock(LockId{lock});
  process->holders.take(lock);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_trylock(uint32_t lock) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (process->holders.is_mine(lock)) return MUSUBI_ERROR_HELD;
  if (!process->runtime.synchronization().try_lock(LockId{lock})) return MUSUBI_BUSY;
  process->holders.take(lock);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_unlock(uint32_t lock) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_LOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (!process->holders.is_mine(lock)) return MUSUBI_ERROR_NOT_HELD;
  process->holders.give_back(lock);
  process->runtime.synchronization().unlock(LockId{lock});
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_flush(void) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  process->runtime.synchronization().flush();
  return MUSUBI_OK;
}
