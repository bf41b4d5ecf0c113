/* Part of musubi.h: the job, its ranks and their threads. */
#ifndef MUSUBI_JOB_H
#define MUSUBI_JOB_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MUSUBI_OK = 0,
  MUSUBI_ERROR_STATE = 1,     /* before musubi_init, after musubi_finalize, or a second musubi_init */
  MUSUBI_ERROR_START = 2,     /* the job cannot be joined; a line on standard error says why */
  MUSUBI_ERROR_ADDRESS = 3,   /* a null pointer, or an address that musubi_alloc did not give */
  MUSUBI_ERROR_ALIGNMENT = 4, /* an atomic operation on an address that is no multiple of the word's size */
  MUSUBI_ERROR_LOCK = 5,      /* a number that is not below the count of locks or conditions */
  MUSUBI_ERROR_HELD = 6,      /* this thread holds the lock that it asks for */
  MUSUBI_ERROR_NOT_HELD = 7,  /* this thread does not hold the lock that it gives back, or waits with */
  MUSUBI_BUSY = 8,            /* of the try functions: the lock is not free */
  MUSUBI_TIMEOUT = 9,         /* of musubi_cond_timedwait: nobody signalled in time */
  MUSUBI_ERROR_ARGUMENT = 10, /* no such rank, type, operation or attribute, or a size out of range */
  MUSUBI_ERROR_MEMORY = 11    /* no addresses are left for shared memory */
};

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
 * abort_timeout after rank 0 has ended are killed. A process that ends without this call is a failure
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

#ifdef __cplusplus
}
#endif

#endif
