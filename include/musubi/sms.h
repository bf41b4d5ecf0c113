/* SMS (Midorikawa and Iizuka): shared memory for C programs in few functions. Link with -lsms.
 *
 * A program runs as sms_nproc processes, each of which runs main. Memory of sms_alloc and sms_calloc is
 * shared, at the same address in every process; all other memory is private. A process sees a write of
 * another process after a barrier of both, or when it takes a lock that the writer released after the
 * write.
 *
 *     #include <sms.h>
 *     int main(int argc, char** argv) {
 *       sms_startup(argc, argv);
 *       int* sum = sms_alloc(sizeof *sum, 0);
 *       sms_lock(0);
 *       *sum += sms_proc_id;
 *       sms_unlock(0);
 *       sms_barrier(0);
 *       sms_shutdown();
 *     }
 *
 * Every process calls sms_startup, sms_alloc, sms_calloc, sms_change_page_manager, sms_barrier and
 * sms_shutdown in the same order with the same arguments. Only the thread of each process that called
 * sms_startup may call these functions and access shared memory. No function may be called in a signal
 * handler.
 *
 * No function returns an error: misuse ends the job with exit status 1 and one line on standard error that
 * names the function, the cause and the remedy (docs/reference/sms.md lists them).
 *
 * Names and arguments are those of table 2 of the paper (SMS in docs/design/papers.md, section 4); the
 * functions whose names end in _large are additions. Consistency is that of sections 3.2 and 5.
 */
#ifndef MUSUBI_SMS_H
#define MUSUBI_SMS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Locks are numbered from 0 to SMS_LOCK_COUNT - 1, conditions from 0 to SMS_COND_COUNT - 1. */
enum { SMS_LOCK_COUNT = 65536, SMS_COND_COUNT = 4096 };

/* The number of processes, and the number of this process, from 0 to sms_nproc - 1. Read only. 0 and -1
 * before sms_startup; unchanged after sms_shutdown. */
extern int sms_nproc;
extern int sms_proc_id;

/* Begins the job. Call it first in main. Blocks until all processes have called it.
 *
 * A program started by `musubi run -n 8` is one of 8 processes, and all its arguments are its own. A
 * program that was started by itself restarts here as 8 processes if `-- -n 8` ends its command line; the
 * program's own arguments are those before `--`. Without `--` it is one process. Options after `--`:
 *
 *     -n NUMBER   processes
 *     -f FILE     one host per line; as many processes as lines, unless -n says otherwise
 *     -r COMMAND  with -f: runs a command line on a host, in place of ssh
 */
void sms_startup(int argc, char** argv);

/* Ends the job. The process holds no lock; afterwards it neither accesses shared memory nor calls any other
 * function. Blocks until all processes have called it. In a program that restarted itself, the processes
 * run on until process 0 has ended. */
void sms_shutdown(void);

/* Ends all processes at once as a failure with exit status 1 and prints `message` in one line on standard
 * error. Before sms_startup: ends this process only. Never returns. */
void sms_error(const char* message);

/* Allocate shared memory of `size` bytes, or of `num` elements of `itemsize` bytes, all zero, aligned to 64
 * bytes and freed when the job ends. Process `page_manager` owns the pages at first: choose the process
 * that uses them most. When two processes change bytes of one word without an order between them, each byte
 * keeps one value (sms_alloc) or each element does (sms_calloc with elements of 2, 4, 8 bytes or multiples;
 * words of at most 8 bytes); on one host, each store does. Block until all processes have called them. */
void* sms_alloc(int size, int page_manager);
void* sms_calloc(int num, int itemsize, int page_manager);
/* The same for more than 2 GiB. */
void* sms_alloc_large(size_t size, int page_manager);
void* sms_calloc_large(size_t num, size_t itemsize, int page_manager);

/* From the next barrier on, process `page_manager` owns the pages of these bytes until another process
 * writes them. The bytes belong to one allocation. A page is a block of shared memory (setting
 * heap_block_bytes); other data in it moves along. Block until all processes have called them. */
void sms_change_page_manager(void* address, int size, int page_manager);
void sms_change_page_manager_large(void* address, size_t size, int page_manager);

/* Waits until all processes have called it. Afterwards each process sees all earlier writes of all
 * processes. `barrier_manager` is the number of a process; it makes no difference here. */
void sms_barrier(int barrier_manager);

/* Mutual exclusion among all processes. The process that takes the lock sees all writes that earlier
 * holders made before they released it. Not recursive. sms_lock blocks until the lock is free, first come,
 * first served; a waiting process sleeps. */
void sms_lock(int lock);
void sms_unlock(int lock);

/* Releases `lock`, which this process holds, sleeps until another process signals, and takes the lock
 * again. A signal that is given after the release is not lost. As with POSIX: test the condition in a
 * loop. */
void sms_cond_wait(int condition, int lock);
/* Wake the process that has waited longest, or all that wait. Do not block. A signal without a waiting
 * process has no effect. */
void sms_cond_signal(int condition);
void sms_cond_broadcast(int condition);

#ifdef __cplusplus
}
#endif

#endif
