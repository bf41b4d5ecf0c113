/* Part of musubi.h: barrier, locks, conditions, flush.
 *
 *     enum { queue_lock = 0, queue_changed = 0 };
 *
 *     musubi_lock(queue_lock);
 *     while (queue->length == 0) musubi_cond_wait(queue_changed, queue_lock);
 *     struct item* item = queue->items[--queue->length];
 *     musubi_unlock(queue_lock);
 *     work(item);
 *     musubi_barrier();
 */
#ifndef MUSUBI_SYNCHRONIZATION_H
#define MUSUBI_SYNCHRONIZATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until every rank has called it. Afterwards every rank sees all earlier writes of all ranks.
 * Collective, blocks. Errors: MUSUBI_ERROR_STATE. */
int musubi_barrier(void);

/* Mutual exclusion among all threads of all ranks. The thread that takes the lock sees all writes that
 * earlier holders made before they released it. Not recursive; the thread that took the lock releases it.
 * musubi_lock blocks. musubi_trylock waits for no holder and returns MUSUBI_BUSY when the lock is not free.
 * musubi_unlock waits for no other thread of the program. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK,
 * MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_LOCK_COUNT 65536u
int musubi_lock(uint32_t lock);
int musubi_trylock(uint32_t lock);
int musubi_unlock(uint32_t lock);

/* Reader-writer locks, held by many readers or by one writer, on any ranks and threads. They are numbered
 * apart from the locks of musubi_lock. First come, first served: a reader does not overtake a waiting
 * writer, nor a writer a waiting reader. A writer sees the writes of all earlier holders, a reader those of
 * all earlier writers. Not recursive, also not for reading; the thread that took the lock releases it.
 * rdlock and wrlock block; the try functions wait for no holder and return MUSUBI_BUSY. Errors:
 * MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK, MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_RWLOCK_COUNT 4096u
int musubi_rdlock(uint32_t rwlock);
int musubi_tryrdlock(uint32_t rwlock);
int musubi_wrlock(uint32_t rwlock);
int musubi_trywrlock(uint32_t rwlock);
int musubi_rwunlock(uint32_t rwlock);

/* Condition variables. musubi_cond_wait releases `lock` (of musubi_lock, held by this thread), sleeps until
 * a thread of any rank signals, and takes the lock again. A signal that another thread gives after it has
 * held the lock is not lost. Test the condition in a loop: another thread may have changed it before this
 * one holds the lock again. musubi_cond_timedwait also returns after `timeout_ns` nanoseconds, with
 * MUSUBI_TIMEOUT and the lock held; it has then consumed no signal. musubi_cond_signal wakes the thread
 * that has waited longest, musubi_cond_broadcast all waiting threads; the caller need not hold the lock.
 * Only the wait functions block. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK, MUSUBI_ERROR_NOT_HELD. */
#define MUSUBI_COND_COUNT 4096u
int musubi_cond_wait(uint32_t condition, uint32_t lock);
int musubi_cond_timedwait(uint32_t condition, uint32_t lock, uint64_t timeout_ns);
int musubi_cond_signal(uint32_t condition);
int musubi_cond_broadcast(uint32_t condition);

/* Makes all earlier writes of this rank visible to every rank that flushes later, and the writes that other
 * ranks flushed earlier visible here. Together with musubi_atomic_ words it builds any synchronisation. May
 * wait for a reply of every rank, but never for another call of musubi_flush. Errors:
 * MUSUBI_ERROR_STATE. */
int musubi_flush(void);

#ifdef __cplusplus
}
#endif

#endif
