/* PARMACS, the macros of SPLASH programs, as macros of C: for programs without m4, and new ones.
 *
 *     #include <musubi/parmacs.h>
 *     MAIN_ENV
 *     struct shared { BARDEC(met) LOCKDEC(guard) long sum; }* shared;
 *     void work(void) { LOCK(shared->guard) ++shared->sum; UNLOCK(shared->guard) BARRIER(shared->met, 4) }
 *     int main(void) {
 *       MAIN_INITENV()
 *       shared = G_MALLOC(sizeof *shared);
 *       BARINIT(shared->met, 4) LOCKINIT(shared->guard)
 *       CREATE(work, 4)
 *       WAIT_FOR_END(4)
 *       MAIN_END
 *     }
 *
 * Declarations and statements end themselves; a semicolon after them is harmless, but for that between `if`
 * and `else`. docs/guide/splash.md lists all macros; share/musubi/parmacs/c.m4.musubi has the same for m4.
 */
#ifndef MUSUBI_PARMACS_H
#define MUSUBI_PARMACS_H

#include "musubi/parmacs_tasks.h"

/* The program. */
#define MAIN_ENV
#define EXTERN_ENV
#define ENV
#define MAIN_INITENV(...) \
  { ; }
#define MAIN_END \
  { exit(0); }

/* CREATE(f) makes a task that calls f; CREATE(f, n) makes n - 1, and calls f here. */
#define MUSUBI_PARMACS_CREATE_ONE(work) \
  { musubi_parmacs_create((musubi_parmacs_work)(work), 1); }
#define MUSUBI_PARMACS_CREATE_ALL(work, tasks)                           \
  {                                                                      \
    musubi_parmacs_create((musubi_parmacs_work)(work), (long)(tasks)-1); \
    ((musubi_parmacs_work)(work))();                                     \
  }
#define MUSUBI_PARMACS_CHOOSE(first, second, chosen, ...) chosen
#define CREATE(...) \
  MUSUBI_PARMACS_CHOOSE(__VA_ARGS__, MUSUBI_PARMACS_CREATE_ALL, MUSUBI_PARMACS_CREATE_ONE, )(__VA_ARGS__)
#define WAIT_FOR_END(tasks) \
  { musubi_parmacs_wait_for_end((long)(tasks)); }

/* Memory that all tasks share. A place for it, as a second argument, is not used. */
#define MUSUBI_PARMACS_FIRST(first, ...) first
#define G_MALLOC(...) malloc(MUSUBI_PARMACS_FIRST(__VA_ARGS__, ))
#define G_MALLOC_F(...) G_MALLOC(__VA_ARGS__)
#define NU_MALLOC(...) G_MALLOC(__VA_ARGS__)
#define NU_MALLOC_F(...) G_MALLOC(__VA_ARGS__)
#define G_FREE(...) \
  { free(MUSUBI_PARMACS_FIRST(__VA_ARGS__, )); }
#define NU_FREE(...) G_FREE(__VA_ARGS__)

/* Locks, and arrays of them. */
#define LOCKDEC(lock) pthread_mutex_t lock;
#define LOCKINIT(lock) \
  { musubi_parmacs_init_locks(&(lock), 1); }
#define LOCK(lock) \
  { pthread_mutex_lock(&(lock)); }
#define UNLOCK(lock) \
  { pthread_mutex_unlock(&(lock)); }
#define NLOCKDEC(lock) LOCKDEC(lock)
#define NLOCKINIT(lock) LOCKINIT(lock)
#define NLOCK(lock) LOCK(lock)
#define NUNLOCK(lock) UNLOCK(lock)
#define ALOCKDEC(locks, count) pthread_mutex_t locks[count];
#define ALOCKINIT(locks, count) \
  { musubi_parmacs_init_locks(locks, (long)(count)); }
#define ALOCK(locks, i) LOCK((locks)[i])
#define AULOCK(locks, i) UNLOCK((locks)[i])
#define AGETL(locks, i) ((locks)[i])

/* Barriers. BARINIT(b) leaves the number of tasks to BARRIER(b, n). */
#define BARDEC(barrier) struct musubi_parmacs_barrier barrier;
#define MUSUBI_PARMACS_BARINIT(barrier, tasks, ...) \
  { musubi_parmacs_init_barrier(&(barrier), (unsigned)(tasks)); }
#define BARINIT(...) MUSUBI_PARMACS_BARINIT(__VA_ARGS__, 0, )
#define BARRIER(barrier, tasks) \
  { musubi_parmacs_meet(&(barrier), (unsigned)(tasks)); }
#define BAREXTERN(...)
#define ABARDEF
#define ABAREXTERN

/* Events, conditions, semaphores. */
#define PAUSEDEC(event) struct musubi_parmacs_event event;
#define PAUSEINIT(event) \
  { musubi_parmacs_init_event(&(event)); }
#define SETPAUSE(event) \
  { musubi_parmacs_set_event(&(event), 1); }
#define CLEARPAUSE(event) \
  { musubi_parmacs_set_event(&(event), 0); }
#define WAITPAUSE(event) \
  { musubi_parmacs_wait_for_event(&(event)); }
#define EVENT(...) \
  { ; }
#define PAUSE(...) \
  { ; }
#define CONDVARDEC(condition) pthread_cond_t condition;
#define CONDVARINIT(condition) \
  { pthread_cond_init(&(condition), NULL); }
#define CONDVARWAIT(condition, lock) \
  { pthread_cond_wait(&(condition), &(lock)); }
#define CONDVARSIGNAL(condition) \
  { pthread_cond_signal(&(condition)); }
#define CONDVARBCAST(condition) \
  { pthread_cond_broadcast(&(condition)); }
#define SEMDEC(semaphore) sem_t semaphore;
#define SEMINIT(semaphore, count) \
  { sem_init(&(semaphore), 0, (unsigned)(count)); }
#define SEMP(semaphore)                   \
  {                                       \
    while (sem_wait(&(semaphore)) != 0) { \
    }                                     \
  }
#define SEMV(semaphore) \
  { sem_post(&(semaphore)); }

/* Loops whose subscripts, 0 to `last`, go to the tasks that ask; -1 ends them for all tasks. */
#define GSDEC(loop) struct musubi_parmacs_loop loop;
#define GSINIT(loop) \
  { musubi_parmacs_init_loop(&(loop)); }
#define GETSUB(loop, subscript, last, tasks) \
  { (subscript) = musubi_parmacs_next_of_loop(&(loop), (long)(last), (unsigned)(tasks)); }
#define NU_GSDEC(loop) GSDEC(loop)
#define NU_GSINIT(loop) GSINIT(loop)
#define NU_GETSUB(loop, subscript, last, tasks) GETSUB(loop, subscript, last, tasks)

/* Atomic operations and fences, of C11. Results: the old value; of CAS, whether it has stored. Each fence is
 * a full one: weaker ones leave no instruction on x86, so that Musubi would not see that plain loads and
 * stores need one. */
#define FETCH_ADD(word, amount) atomic_fetch_add(&(word), amount)
#define FETCH_SUB(word, amount) atomic_fetch_sub(&(word), amount)
#define FETCH_ADD_DOUBLE(address, amount) MUSUBI_PARMACS_ADD_DOUBLE(address, amount)
#define CAS(word, expected, desired) atomic_compare_exchange_weak(&(word), &(expected), desired)
#define LOAD(word) atomic_load(&(word))
#define STORE(word, value) atomic_store(&(word), value)
#define ACQUIRE_FENCE() \
  { atomic_thread_fence(memory_order_seq_cst); }
#define RELEASE_FENCE() \
  { atomic_thread_fence(memory_order_seq_cst); }
#define FULL_FENCE() \
  { atomic_thread_fence(memory_order_seq_cst); }

/* Time, in microseconds. */
#define CLOCK(time) \
  { (time) = musubi_parmacs_clock(); }

/* Marks for simulators, and placement of tasks: nothing. */
#define SPLASH3_ROI_BEGIN()
#define SPLASH3_ROI_END()
#define SPLASH4_ROI_BEGIN()
#define SPLASH4_ROI_END()
#define BIND(...)
#define NEWPROC

#endif
