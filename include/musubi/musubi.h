/* Musubi for programs that share memory explicitly.
 *
 * `musubi run -n 4 ./program` starts the program four times; each process is a rank and runs main(). Private
 * to each rank: globals, stacks, malloc. Shared: what musubi_alloc returns, at the same address on every
 * rank.
 *
 * What a rank wrote becomes visible to another that synchronises with it afterwards: through a barrier, a
 * lock, or a flush on both sides. A program whose accesses to the same bytes are ordered in this way behaves
 * as if there were one memory; two ranks may write different bytes of one page at the same time. Words that
 * ranks access without such an order are for the musubi_atomic_ functions, on all ranks.
 *
 * Functions that return int give MUSUBI_OK or one of the error codes; errors leave everything as it was.
 * Unless stated otherwise a function may be called by any thread between musubi_init and musubi_finalize; a
 * thread that did not call musubi_init calls musubi_attach_thread first. "Blocks": may wait for other ranks,
 * asleep rather than spinning. Collective: every rank calls it, one thread per rank, in the same order as
 * other collective calls; the rank's other threads leave shared memory alone meanwhile.
 *
 * System calls do not fetch shared memory: read(2), write(2) and their like fail with EFAULT on a buffer that
 * this rank does not hold at that moment. Use a private buffer, or musubi_touch.
 *
 * Compile with -I<prefix>/include, link with -lmusubi. C11 and later, C++11 and later.
 */
#ifndef MUSUBI_MUSUBI_H
#define MUSUBI_MUSUBI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MUSUBI_OK = 0,
  MUSUBI_ERROR_STATE = 1,     /* before musubi_init, after musubi_finalize, or a second musubi_init */
  MUSUBI_ERROR_START = 2,     /* the job cannot be joined; a line on standard error says why */
  MUSUBI_ERROR_ADDRESS = 3,   /* a null pointer, or an address that musubi_alloc did not give */
  MUSUBI_ERROR_ALIGNMENT = 4, /* an atomic operation on an address that is no multiple of the word's size */
  MUSUBI_ERROR_LOCK = 5,      /* a lock number that is not below MUSUBI_LOCK_COUNT */
  MUSUBI_ERROR_HELD = 6,      /* musubi_lock of a lock that this thread holds */
  MUSUBI_ERROR_NOT_HELD = 7   /* musubi_unlock of a lock that this thread does not hold */
};

/* Number of locks of a job. */
#define MUSUBI_LOCK_COUNT 65536u

/* What an error code means and what to do: one line without a newline, never null. Any thread, at any time.
 */
const char* musubi_error_text(int error);

/* Joins the job. Once per process, before it has other threads. Collective, blocks. A process that `musubi
 * run` did not start is a job of one rank. argc and argv may be null, and are left as they are: settings come
 * from the command line of `musubi run` and the environment. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_START.
 */
int musubi_init(int* argc, char*** argv);

/* Ends the job: waits for all ranks, prints the statistics if asked for, and gives the job the exit status
 * that is the largest of all `status` (each taken modulo 256). Collective, blocks. Shared memory may not be
 * touched afterwards. Ranks should return from main soon after: those that do not end within the setting
 * abort_timeout after the first one has ended are killed. A process that ends without this call is a failure
 * of the whole job. Errors: MUSUBI_ERROR_STATE. */
int musubi_finalize(int status);

/* Ends all ranks at once, as a failure with this exit status (0 counts as 1) and one line on standard error
 * that gives `reason` (may be null). Never returns. Any thread; also before musubi_init. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void musubi_abort(int status, const char* reason);

/* This process's number, 0 to musubi_size() - 1, and the number of ranks. Outside of musubi_init and
 * musubi_finalize: -1 and 0. */
int musubi_rank(void);
int musubi_size(void);

/* Lets the calling thread use shared memory and this interface, until musubi_detach_thread. The thread that
 * called musubi_init is attached. Attaching twice does nothing. Errors: MUSUBI_ERROR_STATE. */
int musubi_attach_thread(void);
int musubi_detach_thread(void);

/* Shared memory for `bytes` bytes, aligned to 16 bytes (from 128 KiB on to a block of the protocol), with
 * undefined contents; null when this rank's part of the heap (setting heap_bytes) is used up. Other ranks use
 * the address as it is: pass it on in shared memory, or by musubi_broadcast. Does not block for other ranks.
 */
void* musubi_alloc(size_t bytes);

/* Gives memory of musubi_alloc back. Any rank may; nobody uses the memory afterwards. Null: does nothing.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS. */
int musubi_free(void* memory);

/* Makes rank 0's *pointer that of every rank, with a barrier in it. Collective, blocks.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (`pointer` is null). */
int musubi_broadcast(void** pointer);

/* Waits until every rank is here; then everybody sees what anybody wrote before. Collective, blocks.
 * Errors: MUSUBI_ERROR_STATE. */
int musubi_barrier(void);

/* Mutual exclusion over all ranks and their threads. The thread that takes the lock sees what its holders
 * wrote before they gave it back. Not recursive; given back by the thread that took it. musubi_lock blocks.
 * Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_LOCK, MUSUBI_ERROR_HELD, MUSUBI_ERROR_NOT_HELD. */
int musubi_lock(uint32_t lock);
int musubi_unlock(uint32_t lock);

/* Makes what this rank wrote visible to every rank that flushes later, and what others flushed before visible
 * here. With musubi_atomic_ words this builds any synchronisation. Blocks for the rank that holds the clock,
 * not for a partner. Errors: MUSUBI_ERROR_STATE. */
int musubi_flush(void);

/* Makes [memory, memory + bytes) readable (writable: also writable) at this rank for a system call that
 * follows at once. Blocks. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS (not all of it is shared). */
int musubi_touch(const void* memory, size_t bytes, int writable);

/* Atomic operations on aligned words of shared memory. Each acts on the newest value in the job, and
 * operations on one word happen in one order for all ranks; other memory is not ordered by them (musubi_flush
 * does that). `old` gets the value before the operation and may be null. compare_swap stores `desired` if the
 * word is `expected`; it has, when *old == expected. They block for the rank that has the word, not for a
 * partner, and cost microseconds. Errors: MUSUBI_ERROR_STATE, MUSUBI_ERROR_ADDRESS, MUSUBI_ERROR_ALIGNMENT.
 */
int musubi_atomic_load_32(const uint32_t* word, uint32_t* value);
int musubi_atomic_load_64(const uint64_t* word, uint64_t* value);
int musubi_atomic_store_32(uint32_t* word, uint32_t value);
int musubi_atomic_store_64(uint64_t* word, uint64_t value);
int musubi_atomic_fetch_add_32(uint32_t* word, uint32_t amount, uint32_t* old);
int musubi_atomic_fetch_add_64(uint64_t* word, uint64_t amount, uint64_t* old);
int musubi_atomic_compare_swap_32(uint32_t* word, uint32_t expected, uint32_t desired, uint32_t* old);
int musubi_atomic_compare_swap_64(uint64_t* word, uint64_t expected, uint64_t desired, uint64_t* old);

#ifdef __cplusplus
}
#endif

#endif
