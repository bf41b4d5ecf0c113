/* A rank of a job that tries the locks and conditions of musubi.h: synchronization_program <case>. Each
 * case checks itself. */
#include <pthread.h>
#include <unistd.h>

#include "checks.h"

enum { threads_of_rank = 3 };

/* Runs `work` on this many threads of each rank at once. */
static void on_threads(void* (*work)(void*)) {
  pthread_t threads[threads_of_rank];
  for (size_t i = 0; i < threads_of_rank; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  }
  for (size_t i = 0; i < threads_of_rank; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void refusals(void) {
  const uint32_t mine = (uint32_t)rank, next = (uint32_t)(rank + ranks);
  CHECK(musubi_trylock(MUSUBI_LOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_trylock(mine) == MUSUBI_OK && musubi_trylock(mine) == MUSUBI_ERROR_HELD);
  CHECK(musubi_lock(mine) == MUSUBI_ERROR_HELD && musubi_unlock(mine) == MUSUBI_OK);
  CHECK(musubi_unlock(mine) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_rdlock(MUSUBI_RWLOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_tryrdlock(MUSUBI_RWLOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_wrlock(MUSUBI_RWLOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_trywrlock(MUSUBI_RWLOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_rwunlock(MUSUBI_RWLOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_rwunlock(mine) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_rdlock(mine) == MUSUBI_OK && musubi_wrlock(next) == MUSUBI_OK);
  CHECK(musubi_rdlock(mine) == MUSUBI_ERROR_HELD && musubi_tryrdlock(mine) == MUSUBI_ERROR_HELD);
  CHECK(musubi_wrlock(mine) == MUSUBI_ERROR_HELD && musubi_trywrlock(mine) == MUSUBI_ERROR_HELD);
  CHECK(musubi_rdlock(next) == MUSUBI_ERROR_HELD && musubi_wrlock(next) == MUSUBI_ERROR_HELD);
  CHECK(musubi_rwunlock(next) == MUSUBI_OK && musubi_rwunlock(mine) == MUSUBI_OK);
  CHECK(musubi_rwunlock(mine) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_cond_wait(MUSUBI_COND_COUNT, mine) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_cond_wait(0, MUSUBI_LOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_cond_wait(0, mine) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_cond_timedwait(0, mine, 1) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_cond_signal(MUSUBI_COND_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_cond_broadcast(MUSUBI_COND_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_cond_signal(0) == MUSUBI_OK && musubi_cond_broadcast(0) == MUSUBI_OK);
}

static int holders_turn;

static void* try_in_vain(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  CHECK(musubi_trylock(3) == MUSUBI_BUSY);
  CHECK(musubi_unlock(3) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_tryrdlock(4) == (holders_turn ? MUSUBI_BUSY : MUSUBI_OK));
  if (!holders_turn) CHECK(musubi_rwunlock(4) == MUSUBI_OK);
  CHECK(musubi_trywrlock(4) == MUSUBI_BUSY);
  CHECK(musubi_rwunlock(4) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

/* One thread of the job holds the locks, all other threads try. */
static void busy(void) {
  for (holders_turn = 0; holders_turn < 2; ++holders_turn) {
    if (rank == ranks - 1) {
      CHECK(musubi_trylock(3) == MUSUBI_OK);
      CHECK((holders_turn ? musubi_trywrlock(4) : musubi_tryrdlock(4)) == MUSUBI_OK);
    }
    BARRIER();
    on_threads(try_in_vain);
    BARRIER();
    if (rank == ranks - 1) CHECK(musubi_unlock(3) == MUSUBI_OK && musubi_rwunlock(4) == MUSUBI_OK);
    BARRIER();
  }
}

static struct {
  uint64_t first;
  char apart[100000];
  uint64_t second;
  uint64_t reads[64][threads_of_rank];
}* page;
enum { rounds = 40 };

static void* read_and_write(void* number) {
  const size_t self = (size_t)number;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  for (int i = 0; i < rounds; ++i) {
    if (i % 4 == 0) {
      CHECK(musubi_wrlock(7) == MUSUBI_OK);
      CHECK(page->first == page->second);
      ++page->first;
      ++page->second;
    } else {
      CHECK(musubi_rdlock(7) == MUSUBI_OK);
      CHECK(page->first == page->second);
      ++page->reads[rank][self]; /* only this thread's */
    }
    CHECK(musubi_rwunlock(7) == MUSUBI_OK);
  }
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

static void readers_and_writers(void) {
  page = allocate_for_all(sizeof *page);
  on_threads(read_and_write);
  /* The last of all locks, without a barrier: a writer sees the readers' writes. */
  uint64_t* const left = allocate_for_all(sizeof *left);
  CHECK(musubi_wrlock(7) == MUSUBI_OK);
  if (++*left == (uint64_t)ranks) {
    CHECK(page->first == (uint64_t)(ranks * threads_of_rank * rounds / 4) && page->second == page->first);
    for (int r = 0; r < ranks; ++r) {
      for (int t = 0; t < threads_of_rank; ++t) CHECK(page->reads[r][t] == rounds - rounds / 4);
    }
  }
  CHECK(musubi_rwunlock(7) == MUSUBI_OK);
}

/* All readers are inside at once, or this never ends. */
static void many_readers(void) {
  CHECK(musubi_rdlock(1) == MUSUBI_OK);
  BARRIER();
  CHECK(musubi_rwunlock(1) == MUSUBI_OK);
}

static struct {
  uint64_t count, made, used, sum;
  uint64_t item[2];
}* buffer;
enum { buffer_lock = 11, not_empty = 1, not_full = 2 };

static void* trade(void* number) {
  const int makes = (size_t)number % 2 == 0;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  for (int i = 0; i < (makes ? rounds : 2 * rounds); ++i) {
    CHECK(musubi_lock(buffer_lock) == MUSUBI_OK);
    while (buffer->count == (makes ? 2 : 0)) {
      if (i % 3 == 0) {
        const int result = musubi_cond_timedwait(makes ? not_full : not_empty, buffer_lock, 300000);
        CHECK(result == MUSUBI_OK || result == MUSUBI_TIMEOUT);
      } else {
        CHECK(musubi_cond_wait(makes ? not_full : not_empty, buffer_lock) == MUSUBI_OK);
      }
    }
    if (makes) {
      buffer->item[buffer->count++] = ++buffer->made;
    } else {
      buffer->sum += buffer->item[--buffer->count];
      ++buffer->used;
    }
    CHECK(musubi_cond_signal(makes ? not_empty : not_full) == MUSUBI_OK);
    CHECK(musubi_unlock(buffer_lock) == MUSUBI_OK);
  }
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

/* Two threads of each rank produce, one consumes, through a buffer of two. */
static void conditions(void) {
  buffer = allocate_for_all(sizeof *buffer);
  on_threads(trade);
  BARRIER();
  const uint64_t all = (uint64_t)(2 * ranks * rounds);
  CHECK(buffer->count == 0 && buffer->made == all && buffer->used == all);
  CHECK(buffer->sum == all * (all + 1) / 2);
}

static uint64_t* gate;

static void* pass_gate(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  CHECK(musubi_lock(0) == MUSUBI_OK);
  ++gate[1];
  CHECK(musubi_cond_signal(4) == MUSUBI_OK);
  while (gate[0] == 0) CHECK(musubi_cond_wait(3, 0) == MUSUBI_OK);
  CHECK(musubi_unlock(0) == MUSUBI_OK);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

static void* open_gate(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  CHECK(musubi_lock(0) == MUSUBI_OK);
  while (gate[1] != (uint64_t)(ranks * threads_of_rank)) CHECK(musubi_cond_wait(4, 0) == MUSUBI_OK);
  gate[0] = 1;
  CHECK(musubi_unlock(0) == MUSUBI_OK);
  CHECK(musubi_cond_broadcast(3) == MUSUBI_OK);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

/* All threads of all ranks wait for one that waits for all. */
static void broadcast(void) {
  gate = allocate_for_all(2 * sizeof *gate);
  pthread_t opener;
  if (rank == 0) CHECK(pthread_create(&opener, NULL, open_gate, NULL) == 0);
  on_threads(pass_gate);
  if (rank == 0) CHECK(pthread_join(opener, NULL) == 0);
}

/* No thread signals. */
static void timeout(void) {
  const uint32_t mine = (uint32_t)rank;
  CHECK(musubi_lock(mine) == MUSUBI_OK);
  CHECK(musubi_cond_timedwait(mine, mine, 0) == MUSUBI_TIMEOUT);
  CHECK(musubi_cond_timedwait(mine, mine, 2000000) == MUSUBI_TIMEOUT);
  CHECK(musubi_unlock(mine) == MUSUBI_OK);
}

static int is_waiting;

static void* wait_for_centuries(void* unused) {
  const uint32_t mine = (uint32_t)rank;
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK && musubi_lock(mine) == MUSUBI_OK);
  is_waiting = 1;
  CHECK(musubi_cond_timedwait(mine, mine, INT64_MAX) == MUSUBI_OK);
  CHECK(musubi_unlock(mine) == MUSUBI_OK && musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

static pthread_key_t key_of_thread;

static void give_back_at_end(void* unused) {
  (void)unused;
  for (uint32_t lock = 0; lock < 40; ++lock) CHECK(musubi_rwunlock(lock) == MUSUBI_OK);
  CHECK(musubi_rdlock(41) == MUSUBI_OK && musubi_rwunlock(41) == MUSUBI_OK);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
}

static void* hold_to_the_end(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK && pthread_setspecific(key_of_thread, &key_of_thread) == 0);
  for (uint32_t lock = 0; lock < 40; ++lock) CHECK(musubi_rdlock(lock) == MUSUBI_OK);
  return NULL;
}

/* The destructor of a thread's key runs late in the thread's life, and is part of it. */
static void ends_of_threads(void) {
  CHECK(pthread_key_create(&key_of_thread, give_back_at_end) == 0);
  for (int round = 0; round < 10; ++round) on_threads(hold_to_the_end);
}

/* The largest time of 63 bits does not count as expired: the thread that ends waits sleeps, and its mutex
 * is free for the thread that was signalled. */
static void centuries(void) {
  const uint32_t mine = (uint32_t)rank;
  pthread_t waiting;
  CHECK(pthread_create(&waiting, NULL, wait_for_centuries, NULL) == 0);
  for (int seen = 0; !seen;) {
    CHECK(musubi_lock(mine) == MUSUBI_OK);
    seen = is_waiting;
    usleep(100000); /* until the thread that ends waits has begun */
    if (seen) CHECK(musubi_cond_signal(mine) == MUSUBI_OK);
    CHECK(musubi_unlock(mine) == MUSUBI_OK);
  }
  CHECK(pthread_join(waiting, NULL) == 0);
}

/* A thread waits for ever in a job that ends. */
static void death(void) {
  if (rank == 0) musubi_abort(43, "as the test wants it");
  CHECK(musubi_lock(0) == MUSUBI_OK);
  musubi_cond_wait(0, 0);
}

int main(int argc, char** argv) {
  if (musubi_trylock(0) != MUSUBI_ERROR_STATE || musubi_rdlock(0) != MUSUBI_ERROR_STATE ||
      musubi_tryrdlock(0) != MUSUBI_ERROR_STATE || musubi_wrlock(0) != MUSUBI_ERROR_STATE ||
      musubi_trywrlock(0) != MUSUBI_ERROR_STATE || musubi_rwunlock(0) != MUSUBI_ERROR_STATE ||
      musubi_cond_wait(0, 0) != MUSUBI_ERROR_STATE || musubi_cond_timedwait(0, 0, 0) != MUSUBI_ERROR_STATE ||
      musubi_cond_signal(0) != MUSUBI_ERROR_STATE || musubi_cond_broadcast(0) != MUSUBI_ERROR_STATE) {
    return 98;
  }
  static const struct test_case cases[] = {{"refusals", refusals},
                                           {"busy", busy},
                                           {"readers_and_writers", readers_and_writers},
                                           {"many_readers", many_readers},
                                           {"conditions", conditions},
                                           {"broadcast", broadcast},
                                           {"timeout", timeout},
                                           {"centuries", centuries},
                                           {"ends_of_threads", ends_of_threads},
                                           {"death", death}};
  if (!run_case(join_job(argc, argv), cases, sizeof cases / sizeof cases[0])) return 96;
  return musubi_finalize(0);
}
