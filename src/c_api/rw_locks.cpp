// musubi.h: reader-writer locks.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/export.h"
#include "c_api/job.h"
#include "c_api/thread_end.h"
#include "musubi/musubi.h"

using musubi::RwLockId;
using musubi::c_api::current_job;
using musubi::c_api::ThreadEnd;
using musubi::runtime::Coordination;

static_assert(MUSUBI_RWLOCK_COUNT == Coordination::rw_lock_count);

namespace {

struct Held {
  std::uint32_t lock;
  bool writing;
};
// Held by the calling thread, in no order; null: none so far.
constinit thread_local std::vector<Held>* held_by_thread = nullptr;

void forget_held_locks();

ThreadEnd& thread_end() {
  static ThreadEnd end(forget_held_locks);
  return end;
}

// Kept while it lists any lock: the program may release it later during the thread's end.
void forget_held_locks() {
  if (!held_by_thread->empty()) return thread_end().expect();
  delete std::exchange(held_by_thread, nullptr);
}

std::vector<Held>& held_locks() {
  if (held_by_thread == nullptr) {
    held_by_thread = new std::vector<Held>;
    thread_end().expect();
  }
  return *held_by_thread;
}

std::vector<Held>::iterator find(std::uint32_t lock) {
  std::vector<Held>& all = held_locks();
  return std::find_if(all.begin(), all.end(), [lock](const Held& held) { return held.lock == lock; });
}

// `lock_it` returns whether it has taken the lock.
template <class Lock>
int take(std::uint32_t lock, bool writing, Lock lock_it) {
  auto* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (lock >= MUSUBI_RWLOCK_COUNT) return MUSUBI_ERROR_LOCK;
  if (find(lock) != held_locks().end()) return MUSUBI_ERROR_HELD;
  if (!lock_it(job->runtime.coordination(), RwLockId{lock})) return MUSUBI_BUSY;
  held_locks().push_back({lock, writing});
  return MUSUBI_OK;
}

}  // namespace

MUSUBI_EXPORT int musubi_rdlock(uint32_t rwlock) {
  return take(rwlock, false, [](Coordination& locks, RwLockId lock) {
    locks.lock_shared(lock);
    return true;
  });
}

MUSUBI_EXPORT int musubi_tryrdlock(uint32_t rwlock) {
  return take(rwlock, false, [](Coordination& locks, RwLockId lock) { return locks.try_lock_shared(lock); });
}

MUSUBI_EXPORT int musubi_wrlock(uint32_t rwlock) {
  return take(rwlock, true, [](Coordination& locks, RwLockId lock) {
    locks.lock_exclusive(lock);
    return true;
  });
}

MUSUBI_EXPORT int musubi_trywrlock(uint32_t rwlock) {
  return take(rwlock, true,
              [](Coordination& locks, RwLockId lock) { return locks.try_lock_exclusive(lock); });
}

MUSUBI_EXPORT int musubi_rwunlock(uint32_t rwlock) {
  auto* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (rwlock >= MUSUBI_RWLOCK_COUNT) return MUSUBI_ERROR_LOCK;
  const auto held = find(rwlock);
  if (held == held_locks().end()) return MUSUBI_ERROR_NOT_HELD;
  const bool writing = held->writing;
  held_locks().erase(held);
  Coordination& locks = job->runtime.coordination();
  if (writing) {
    locks.unlock_exclusive(RwLockId{rwlock});
  } else {
    locks.unlock_shared(RwLockId{rwlock});
  }
  return MUSUBI_OK;
}
