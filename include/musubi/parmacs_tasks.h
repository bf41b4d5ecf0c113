/* Functions of the PARMACS macros (parmacs.h, share/musubi/parmacs): tasks, locks, barriers, events and loops
 * of SPLASH programs as threads, mutexes, barriers and conditions of POSIX. Natively they are those of the C
 * library; `musubi run --pthreads` spreads the tasks over ranks and hosts. Needs no library of Musubi.
 *
 * All objects are in memory that the tasks share: globals, or memory of G_MALLOC.
 */
#ifndef MUSUBI_PARMACS_TASKS_H
#define MUSUBI_PARMACS_TASKS_H

/* Barriers are outside the C standard. */
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE)
#define _POSIX_C_SOURCE 200112L
#endif

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && \
    !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
#endif

#ifndef PTHREAD_BARRIER_SERIAL_THREAD
#error "PARMACS needs the barriers of POSIX: compile with -std=gnu11, or -D_POSIX_C_SOURCE=200112L"
#endif

/* SPLASH programs take it from their macros. */
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*musubi_parmacs_work)(void);

/* Tasks that were created and not yet waited for, oldest first. One for the program: each file that includes
 * this header may hold it. */
struct musubi_parmacs_tasks {
  pthread_mutex_t guard;
  pthread_t* threads;
  long count, room;
};
__attribute__((weak)) struct musubi_parmacs_tasks musubi_parmacs_tasks;

static inline void musubi_parmacs_check(int error, const char* call) {
  if (error == 0) return;
  fprintf(stderr, "PARMACS: %s: error %d\n", call, error);
  exit(1);
}

static inline void* musubi_parmacs_run(void* work) {
  ((musubi_parmacs_work)(uintptr_t)work)();
  return NULL;
}

/* Creates `count` tasks that call `work`. Ends the program with a message if there is no room for them. Any
 * task. */
static inline void musubi_parmacs_create(musubi_parmacs_work work, long count) {
  struct musubi_parmacs_tasks* const tasks = &musubi_parmacs_tasks;
  musubi_parmacs_check(pthread_mutex_lock(&tasks->guard), "pthread_mutex_lock");
  while (tasks->count + count > tasks->room) {
    const long room = 2 * tasks->room + 64;
    void* const threads = realloc(tasks->threads, (size_t)room * sizeof(pthread_t));
    if (threads == NULL) musubi_parmacs_check(ENOMEM, "realloc");
    tasks->threads = (pthread_t*)threads;
    tasks->room = room;
  }
  for (long i = 0; i < count; ++i) {
    pthread_t* const next = &tasks->threads[tasks->count];
    musubi_parmacs_check(pthread_create(next, NULL, musubi_parmacs_run, (void*)(uintptr_t)work), "CREATE");
    ++tasks->count;
  }
  musubi_parmacs_check(pthread_mutex_unlock(&tasks->guard), "pthread_mutex_unlock");
}

/* Waits until the `count` oldest tasks have ended, or all if there are fewer: programs that count the main
 * task and programs that do not may both call it. One task at a time. */
static inline void musubi_parmacs_wait_for_end(long count) {
  struct musubi_parmacs_tasks* const tasks = &musubi_parmacs_tasks;
  musubi_parmacs_check(pthread_mutex_lock(&tasks->guard), "pthread_mutex_lock");
  const long ending = count < tasks->count ? count : tasks->count;
  for (long i = 0; i < ending; ++i) {
    const pthread_t thread = tasks->threads[i];
    /* The other tasks may create tasks until they end. */
    musubi_parmacs_check(pthread_mutex_unlock(&tasks->guard), "pthread_mutex_unlock");
    musubi_parmacs_check(pthread_join(thread, NULL), "WAIT_FOR_END");
    musubi_parmacs_check(pthread_mutex_lock(&tasks->guard), "pthread_mutex_lock");
  }
  for (long i = ending; i < tasks->count; ++i) tasks->threads[i - ending] = tasks->threads[i];
  if (ending > 0) tasks->count -= ending;
  musubi_parmacs_check(pthread_mutex_unlock(&tasks->guard), "pthread_mutex_unlock");
}

static inline void musubi_parmacs_init_locks(pthread_mutex_t* locks, long count) {
  for (long i = 0; i < count; ++i) musubi_parmacs_check(pthread_mutex_init(&locks[i], NULL), "LOCKINIT");
}

/* A barrier whose number of tasks may be said at its start, at each call, or both. Calls that differ from the
 * last number change it: no task may wait with another number then. */
struct musubi_parmacs_barrier {
  pthread_barrier_t barrier;
  pthread_mutex_t guard; /* of a change */
  unsigned count;        /* 0: not yet known */
};

static inline void musubi_parmacs_change_barrier(struct musubi_parmacs_barrier* barrier, unsigned count) {
  musubi_parmacs_check(pthread_mutex_lock(&barrier->guard), "pthread_mutex_lock");
  if (barrier->count != count) {
    if (barrier->count != 0) pthread_barrier_destroy(&barrier->barrier);
    musubi_parmacs_check(pthread_barrier_init(&barrier->barrier, NULL, count), "BARRIER");
    __atomic_store_n(&barrier->count, count, __ATOMIC_RELEASE);
  }
  musubi_parmacs_check(pthread_mutex_unlock(&barrier->guard), "pthread_mutex_unlock");
}

/* `count`: 0 if only the calls say it. */
static inline void musubi_parmacs_init_barrier(struct musubi_parmacs_barrier* barrier, unsigned count) {
  musubi_parmacs_check(pthread_mutex_init(&barrier->guard, NULL), "BARINIT");
  barrier->count = 0;
  if (count != 0) musubi_parmacs_change_barrier(barrier, count);
}

/* Waits until `count` tasks have arrived. Afterwards each reads the earlier writes of all. */
static inline void musubi_parmacs_meet(struct musubi_parmacs_barrier* barrier, unsigned count) {
  if (__atomic_load_n(&barrier->count, __ATOMIC_ACQUIRE) != count) {
    musubi_parmacs_change_barrier(barrier, count);
  }
  pthread_barrier_wait(&barrier->barrier);
}

/* An event: set until a task clears it. */
struct musubi_parmacs_event {
  pthread_mutex_t guard;
  pthread_cond_t changed;
  int is_set;
};

static inline void musubi_parmacs_init_event(struct musubi_parmacs_event* event) {
  musubi_parmacs_check(pthread_mutex_init(&event->guard, NULL), "PAUSEINIT");
  musubi_parmacs_check(pthread_cond_init(&event->changed, NULL), "PAUSEINIT");
  event->is_set = 0;
}
static inline void musubi_parmacs_set_event(struct musubi_parmacs_event* event, int is_set) {
  pthread_mutex_lock(&event->guard);
  event->is_set = is_set;
  if (is_set) pthread_cond_broadcast(&event->changed);
  pthread_mutex_unlock(&event->guard);
}
static inline void musubi_parmacs_wait_for_event(struct musubi_parmacs_event* event) {
  pthread_mutex_lock(&event->guard);
  while (!event->is_set) pthread_cond_wait(&event->changed, &event->guard);
  pthread_mutex_unlock(&event->guard);
}

/* A loop whose subscripts, from 0 on, go to the tasks that ask for them. */
struct musubi_parmacs_loop {
  long next;
  struct musubi_parmacs_barrier end;
};

static inline void musubi_parmacs_init_loop(struct musubi_parmacs_loop* loop) {
  loop->next = 0;
  musubi_parmacs_init_barrier(&loop->end, 0);
}
/* Result: a subscript up to `last`; after the last one -1, to all `tasks` at once, and the loop starts again.
 */
static inline long musubi_parmacs_next_of_loop(struct musubi_parmacs_loop* loop, long last, unsigned tasks) {
  const long next = __atomic_fetch_add(&loop->next, 1, __ATOMIC_SEQ_CST);
  if (next <= last) return next;
  musubi_parmacs_meet(&loop->end, tasks);
  __atomic_store_n(&loop->next, 0, __ATOMIC_SEQ_CST);
  musubi_parmacs_meet(&loop->end, tasks);
  return -1;
}

/* Microseconds since 1970, by the clock of the task's host. */
static inline unsigned long musubi_parmacs_clock(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return (unsigned long)now.tv_sec * 1000000ul + (unsigned long)now.tv_usec;
}

/* C11 has no addition of doubles. Result: the old value. */
#define MUSUBI_PARMACS_ADD_DOUBLE(address, amount)                                       \
  __extension__({                                                                        \
    double musubi_old = atomic_load(address);                                            \
    while (!atomic_compare_exchange_weak(address, &musubi_old, musubi_old + (amount))) { \
    }                                                                                    \
    musubi_old;                                                                          \
  })

#ifdef __cplusplus
}
#endif

#endif
