/* Part of musubi.h: the job, its ranks and their threads.
 *
 *     if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
 *     printf("rank %d of %d\n", musubi_rank(), musubi_size());
 *     int error = musubi_barrier();
 *     if (error != MUSUBI_OK) musubi_abort(1, musubi_error_text(error));
 *     error = musubi_finalize(0);
 *     if (error != MUSUBI_OK) fprintf(stderr, "%s\n", musubi_error_text(error));
 */
#ifndef MUSUBI_JOB_H
#define MUSUBI_JOB_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MUSUBI_OK = 0,
  MUSUBI_ERROR_STATE = 1,     /* before musubi_init, after musubi_finalize, or a second musubi_init */
  MUSUBI_ERROR_START = 2,     /* the job cannot be joined; a line on standard error says why */
  MUSUBI_ERROR_ADDRESS = 3,   /* a null pointer, or an address that musubi_alloc did not return */
  MUSUBI_ERROR_ALIGNMENT = 4, /* an atomic operation on an address that is no multiple of the word's size */
  MUSUBI_ERROR_LOCK = 5,      /* the number is not below the count of locks or conditions */
  MUSUBI_ERROR_HELD = 6,      /* this thread already holds the lock */
  MUSUBI_ERROR_NOT_HELD = 7,  /* this thread does not hold the lock that it releases or waits with */
  MUSUBI_BUSY = 8,            /* from the try functions: the lock is not free */
  MUSUBI_TIMEOUT = 9,         /* from musubi_cond_timedwait: no signal arrived in time */
  MUSUBI_ERROR_ARGUMENT = 10, /* no such rank, type, operation or attribute, or a size out of range */
  MUSUBI_ERROR_MEMORY = 11    /* no addresses are left for shared memory */
};

/* The meaning of an error code and the remedy: one line without a newline, never null. Does not block. Any
 * thread may call it at any time. */
const char* musubi_error_text(int error);

/* Joins the job. Call it once per process, before the process has other threads. Collective, blocks. A
 * process that `musubi run` did not start is a job of one rank. argc and argv may be null and stay
 * unchanged: settings come from the command line of `musubi run` and from the environment. Errors:
 * MUSUBI_ERROR_STATE, MUSUBI_ERROR_START. */
int musubi_init(int* argc, char*** argv);

/* Ends the job: waits for all ranks and prints the statistics if they are enabled. The exit status of the
 * job is the largest `status` of all ranks, each taken modulo 256. Collective, blocks. Shared memory must
 * not be accessed afterwards. Ranks should return from main soon: a rank that is still running when the
 * setting abort_timeout has passed since the end of rank 0 is killed. A process that ends without this call
 * makes the whole job fail. Errors: MUSUBI_ERROR_STATE. */
int musubi_finalize(int status);

/* Ends all ranks at once as a failure with this exit status (0 counts as 1) and prints `reason`, which may
 * be null, in one line on standard error. Never returns. Any thread may call it, also before
 * musubi_init. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void musubi_abort(int status, const char* reason);

/* The number of this process, from 0 to musubi_size() - 1, and the number of ranks; -1 and 0 before
 * musubi_init and after musubi_finalize. Do not block. Any thread. */
int musubi_rank(void);
int musubi_size(void);

/* Allows the calling thread to use shared memory and this interface, until musubi_detach_thread. Attaching
 * an attached thread does nothing. musubi_detach_thread waits until the operations of gas.h and gheap.h
 * that the thread has begun are complete. Errors: MUSUBI_ERROR_STATE. */
int musubi_attach_thread(void);
int musubi_detach_thread(void);

#ifdef __cplusplus
}
#endif

#endif
