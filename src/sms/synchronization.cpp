// sms.h: barrier, locks, conditions.
#include <string>

#include "base/export.h"
#include "musubi/sms.h"
#include "runtime/threads/waiting.h"
#include "sms/collective_calls.h"
#include "sms/job.h"

using musubi::ConditionId;
using musubi::LockId;
using musubi::runtime::Coordination;
using musubi::runtime::note_call;
using musubi::runtime::Synchronization;
using musubi::runtime::Wait;
using musubi::runtime::Waiting;
using musubi::sms::Call;
using musubi::sms::Job;
using musubi::sms::job_in;
using musubi::sms::meet;
using musubi::sms::refuse;

static_assert(SMS_LOCK_COUNT == Synchronization::lock_count);
static_assert(SMS_COND_COUNT == Coordination::condition_count);

namespace {

LockId lock_in(const char* function, int lock) {
  if (lock < 0 || lock >= SMS_LOCK_COUNT)
    refuse(function, "there is no lock " + std::to_string(lock) + ": locks are numbered from 0 to " +
                         std::to_string(SMS_LOCK_COUNT - 1));
  return LockId{static_cast<std::uint32_t>(lock)};
}

LockId held_lock_in(const Job& job, const char* function, int lock) {
  const LockId id = lock_in(function, lock);
  if (!job.held_locks[id.value])
    refuse(function, "this process does not hold lock " + std::to_string(lock) + ": call sms_lock before");
  return id;
}

ConditionId condition_in(const char* function, int condition) {
  if (condition < 0 || condition >= SMS_COND_COUNT)
    refuse(function, "there is no condition " + std::to_string(condition) +
                         ": conditions are numbered from 0 to " + std::to_string(SMS_COND_COUNT - 1));
  return ConditionId{static_cast<std::uint32_t>(condition)};
}

}  // namespace

MUSUBI_EXPORT void sms_barrier(int barrier_manager) {
  note_call(__builtin_return_address(0));
  Job& job = job_in("sms_barrier");
  meet(job.runtime, {Call::barrier, musubi::sms::manager_in(job, "sms_barrier", barrier_manager)});
  job.page_managers.carry_out();
}

MUSUBI_EXPORT void sms_lock(int lock) {
  note_call(__builtin_return_address(0));
  Job& job = job_in("sms_lock");
  const LockId id = lock_in("sms_lock", lock);
  if (job.held_locks[id.value])
    refuse("sms_lock", "this process holds lock " + std::to_string(lock) +
                           " already: take it once, locks are not recursive");
  {
    const Waiting wait(Wait::numbered_lock, id.value);
    job.runtime.synchronization().lock(id);
  }
  job.held_locks.set(id.value);
  musubi::runtime::note_lock_taken(id.value);
}

MUSUBI_EXPORT void sms_unlock(int lock) {
  Job& job = job_in("sms_unlock");
  const LockId id = held_lock_in(job, "sms_unlock", lock);
  job.held_locks.reset(id.value);
  musubi::runtime::note_lock_given_back(id.value);
  job.runtime.synchronization().unlock(id);
}

// The lock counts as held during the wait: no other thread calls then.
MUSUBI_EXPORT void sms_cond_wait(int condition, int lock) {
  note_call(__builtin_return_address(0));
  Job& job = job_in("sms_cond_wait");
  const ConditionId id = condition_in("sms_cond_wait", condition);
  const LockId held = held_lock_in(job, "sms_cond_wait", lock);
  musubi::runtime::note_lock_given_back(held.value);
  {
    const Waiting wait(Wait::signal, id.value);
    job.runtime.coordination().wait(id, held, Coordination::forever);
  }
  musubi::runtime::note_lock_taken(held.value);
}

MUSUBI_EXPORT void sms_cond_signal(int condition) {
  Job& job = job_in("sms_cond_signal");
  job.runtime.coordination().signal(condition_in("sms_cond_signal", condition));
}

MUSUBI_EXPORT void sms_cond_broadcast(int condition) {
  Job& job = job_in("sms_cond_broadcast");
  job.runtime.coordination().broadcast(condition_in("sms_cond_broadcast", condition));
}
