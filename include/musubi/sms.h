/* SMS (Midorikawa and Iizuka): shared memory for programs in C, in few functions. Link with libsms.
 *
 * A program runs as sms_nproc processes, each of which runs main. sms_startup begins, sms_shutdown ends what
 * they have in common. Memory of sms_alloc and sms_calloc is shared and has the same address in every
 * process; all else is private. A process sees what another has written behind a barrier of both, or once it
 * takes a lock that the other has given back since.
 *
 * Every process calls sms_startup, sms_alloc, sms_calloc, sms_change_page_manager, sms_barrier and
 * sms_shutdown in the same order with the same arguments. One thread of each process calls, the one that
 * called sms_startup, and this thread alone uses shared memory. No function may be called in a signal
 * handler.
 *
 * Misuse ends the job: one line on standard error names the function, the cause and the remedy; the exit
 * status is 1. So no function returns an error. docs/reference/sms.md has the lines.
 */
#ifndef MUSUBI_SMS_H
#define MUSUBI_SMS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Locks are numbered from 0 to SMS_LOCK_COUNT - 1, conditions from 0 to SMS_COND_COUNT - 1. */
enum { SMS_LOCK_COUNT = 65536, SMS_COND_COUNT = 4096 };

/* The number of processes, and that of this process, from 0 to sms_nproc - 1. Read only. 0 and -1 before
 * sms_startup; they stay as they are behind sms_shutdown. */
extern int sms_nproc;
extern int sms_proc_id;

/* Begins. Call it first in main: a program that was started by itself with `-- -n 8` at the end of its
 * command line starts anew here, as 8 processes. Then the program's arguments are those before `--`. Options
 * behind it: -n <number>  that many processes -f <file>    a list of hosts, one a line; as many processes as
 * lines, unless -n says otherwise Without `--` the program is one process. A program that `musubi run -n 8`
 * has started is one of 8, and its arguments are its own. Blocks until all processes are there. */
void sms_startup(int argc, char** argv);

/* Ends: shared memory is not used behind it, nor another function called. No lock is held. Blocks until all
 * processes have come. A program started by the command goes on until process 0 has ended. */
void sms_shutdown(void);

/* Ends all processes at once as a failure, exit status 1, with this line on standard error. Also before
 * sms_startup: then this process. */
void sms_error(const char* message);

/* `size` bytes of shared memory, zeros, aligned to 64 bytes; given back when the job ends. Process
 * `page_manager` has the pages at first: choose the one that uses them most. Where two processes change bytes
 * of one word without an order, each byte is a value (sms_alloc) or each element is (sms_calloc, element
 * sizes 2, 4, 8 and their multiples: words of 8 bytes at most); on one host, what each store writes. Blocks
 * until all processes have come. */
void* sms_alloc(int size, int page_manager);
void* sms_calloc(int num, int itemsize, int page_manager);
/* The same for more than 2 GiB. */
void* sms_alloc_large(size_t size, int page_manager);
void* sms_calloc_large(size_t num, size_t itemsize, int page_manager);

/* From the next barrier on process `page_manager` has the pages of these bytes, all of one allocation, until
 * another process writes them. Pages are shared memory's blocks (setting heap_block_bytes); what else lies in
 * them comes along. Blocks until all processes have come. */
void sms_change_page_manager(void* address, int size, int page_manager);
void sms_change_page_manager_large(void* address, size_t size, int page_manager);

/* Waits until all processes are in it. Each then sees what any has written before. `barrier_manager` is the
 * number of a process; who manages a barrier makes no difference here. */
void sms_barrier(int barrier_manager);

/* One process at a time holds a lock. It sees what those before it have written until they gave the lock
 * back. Not recursive. sms_lock blocks until the lock is free, first come, first served; waiting takes no
 * processor. */
void sms_lock(int lock);
void sms_unlock(int lock);

/* Gives `lock`, which this process holds, back, sleeps until another process signals, and takes the lock
 * again. No signal is lost that is given after the lock was. As with POSIX: look again at what is waited for.
 */
void sms_cond_wait(int condition, int lock);
/* Wakes the process that has waited longest, or all that wait. Does not block; nothing is kept for those that
 * come later. */
void sms_cond_signal(int condition);
void sms_cond_broadcast(int condition);

#ifdef __cplusplus
}
#endif

#endif
