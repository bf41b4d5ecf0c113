/* Part of musubi.h: barrier, locks, conditions, flush. */
#ifndef MUSUBI_SYNCHRONIZATION_H
#define MUSUBI_SYNCHRONIZATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until every rank is here; then everybody sees what anybody wrote before. Collective, blocks.
 * Errors: MUSUBI_ERROR_STATE. */
int musubi_barrier(void);

/* Mutual exclusion over all ranks and their threads. The thread that takes the lock sees what its holders
 * wrote before they gave it back. Not recursive; given back by the thread that took it. musubi_lock blocks;
 * musubi_trylock waits for no holder, and gives MUSUBI_BUSY when the lock is not free. Errors:
 * MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK, MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_LOCK_COUNT 65536u
int musubi_lock(uint32_t lock);
int musubi_trylock(uint32_t lock);
int musubi_unlock(uint32_t lock);

/* Locks that many readers, of all ranks and threads, or one writer hold at a time; their numbers are apart
 * from those of musubi_lock. First come, first served: a reader does not pass a writer that waits, nor a
 * writer a reader. A writer sees what all holders before it wrote, a reader what the writers before it wrote.
 * Not recursive, for reading neither; given back by the thread that took it. rdlock and wrlock block; the try
 * functions wait for no holder, and give MUSUBI_BUSY. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK,
 * MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_RWLOCK_COUNT 4096u
int musubi_rdlock(uint32_t rwlock);
int musubi_tryrdlock(uint32_t rwlock);
int musubi_wrlock(uint32_t rwlock);
int musubi_trywrlock(uint32_t rwlock);
int musubi_rwunlock(uint32_t rwlock);

/* Conditions. musubi_cond_wait gives `lock` (of musubi_lock, held by this thread) back, sleeps until a thread
 * of any rank signals, and takes the lock again. No signal is lost that a thread gives after it had the lock.
 * What is waited for is looked at again afterwards, in a loop: another thread may have been faster.
 * musubi_cond_timedwait also ends after `timeout_ns` nanoseconds, with MUSUBI_TIMEOUT and the lock held; then
 * it has taken no signal from another thread. signal wakes the thread that has waited longest, broadcast all;
 * both with or without the lock. Only the wait blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK,
 * MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_COND_COUNT 4096u
int musubi_cond_wait(uint32_t condition, uint32_t lock);
int musubi_cond_timedwait(uint32_t condition, uint32_t lock, uint64_t timeout_ns);
int musubi_cond_signal(uint32_t condition);
int musubi_cond_broadcast(uint32_t condition);

/* Makes what this rank wrote visible to every rank that flushes later, and what others flushed before visible
 * here. With musubi_atomic_ words this builds any synchronisation. Blocks for the rank that holds the clock,
 * not for a partner. Errors: MUSUBI_ERROR_STATE. */
int musubi_flush(void);

#ifdef __cplusplus
}
#endif

#endif
