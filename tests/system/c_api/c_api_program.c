/* A rank of a job that tries musubi.h: c_api_program <case>. Each case checks itself and ends the job
 * with a line when it fails. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

/* Every error code that a caller can provoke, and that such calls have no effect. */
static void misuse(void) {
  uint64_t local = 7, old = 0;
  char* shared = allocate_for_all(64);
  CHECK(musubi_init(NULL, NULL) == MUSUBI_ERROR_STATE);
  CHECK(musubi_free(&local) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_free(NULL) == MUSUBI_OK);
  CHECK(musubi_broadcast(NULL) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_atomic_fetch_add_64(&local, 1, &old) == MUSUBI_ERROR_ADDRESS && local == 7);
  CHECK(musubi_atomic_load_64(NULL, &old) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_atomic_store_32((uint32_t*)(void*)(shared + 2), 1) == MUSUBI_ERROR_ALIGNMENT);
  CHECK(musubi_touch(&local, 8, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_lock(MUSUBI_LOCK_COUNT) == MUSUBI_ERROR_LOCK);
  CHECK(musubi_unlock((uint32_t)rank) == MUSUBI_ERROR_NOT_HELD);
  CHECK(musubi_lock((uint32_t)rank) == MUSUBI_OK);
  CHECK(musubi_lock((uint32_t)rank) == MUSUBI_ERROR_HELD);
  CHECK(musubi_unlock((uint32_t)rank) == MUSUBI_OK);
  for (int error = MUSUBI_OK; error <= MUSUBI_TIMEOUT; ++error) {
    CHECK(strcmp(musubi_error_text(error), musubi_error_text(-1)) != 0);
  }
}

/* A counter under a lock, one by fetch_add, one by compare_swap: nothing is lost. */
static void contention(void) {
  enum { rounds = 50 };
  struct {
    uint64_t locked, added, swapped;
    uint32_t narrow;
  }* counters = allocate_for_all(sizeof *counters);
  for (int i = 0; i < rounds; ++i) {
    CHECK(musubi_lock(5) == MUSUBI_OK);
    counters->locked += 1;
    CHECK(musubi_unlock(5) == MUSUBI_OK);
    CHECK(musubi_atomic_fetch_add_64(&counters->added, 3, NULL) == MUSUBI_OK);
    CHECK(musubi_atomic_fetch_add_32(&counters->narrow, 1, NULL) == MUSUBI_OK);
    uint64_t seen = 0, old = 0;
    CHECK(musubi_atomic_load_64(&counters->swapped, &seen) == MUSUBI_OK);
    while (musubi_atomic_compare_swap_64(&counters->swapped, seen, seen + 1, &old) == MUSUBI_OK &&
           old != seen) {
      seen = old;
    }
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  const uint64_t all = (uint64_t)ranks * rounds;
  CHECK(counters->locked == all && counters->added == 3 * all && counters->swapped == all);
  CHECK(counters->narrow == all);
}

/* Memory that one rank allocates and its neighbour frees, with contents that both must see. */
static void travelling_memory(void) {
  enum { rounds = 12, pieces = 20, bytes_max = 3000 };
  unsigned char** slots = allocate_for_all(sizeof *slots * (size_t)ranks * pieces);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < pieces; ++i) {
      const size_t bytes = (size_t)(1 + (i * 997 + round * 31) % bytes_max);
      unsigned char* piece = musubi_alloc(bytes);
      CHECK(piece != NULL);
      memset(piece, rank + round + i, bytes);
      slots[rank * pieces + i] = piece;
    }
    CHECK(musubi_barrier() == MUSUBI_OK);
    const int other = (rank + 1) % ranks;
    for (int i = 0; i < pieces; ++i) {
      const size_t bytes = (size_t)(1 + (i * 997 + round * 31) % bytes_max);
      unsigned char* piece = slots[other * pieces + i];
      CHECK(piece[0] == (unsigned char)(other + round + i) && piece[bytes - 1] == piece[0]);
      memset(piece, 0xee, bytes);
      CHECK(musubi_free(piece) == MUSUBI_OK);
    }
    CHECK(musubi_barrier() == MUSUBI_OK);
  }
}

/* A message by flag: data, flush, flag; the reader waits for the flag, flushes, reads. */
static void flushes(void) {
  struct {
    uint64_t flag;
    char apart[65536];
    int data[1000];
  }* box = allocate_for_all(sizeof *box);
  if (rank == 0) {
    for (int i = 0; i < 1000; ++i) box->data[i] = i * i;
    CHECK(musubi_flush() == MUSUBI_OK);
    CHECK(musubi_atomic_store_64(&box->flag, 1) == MUSUBI_OK);
    return;
  }
  uint64_t flag = 0;
  while (flag == 0) {
    CHECK(musubi_atomic_load_64(&box->flag, &flag) == MUSUBI_OK);
    usleep(500);
  }
  CHECK(musubi_flush() == MUSUBI_OK);
  for (int i = 0; i < 1000; ++i) CHECK(box->data[i] == i * i);
}

static int* sums_of_threads;

static void* add_under_lock(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  for (int i = 0; i < 20; ++i) {
    CHECK(musubi_lock(9) == MUSUBI_OK);
    sums_of_threads[i] += 1;
    CHECK(musubi_unlock(9) == MUSUBI_OK);
  }
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

static void threads(void) {
  sums_of_threads = allocate_for_all(20 * sizeof(int));
  pthread_t others[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&others[i], NULL, add_under_lock, NULL) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(others[i], NULL) == 0);
  CHECK(musubi_barrier() == MUSUBI_OK);
  for (int i = 0; i < 20; ++i) CHECK(sums_of_threads[i] == 2 * ranks);
}

/* Reads and writes a file directly from shared memory that other ranks wrote last. */
static void system_calls(void) {
  char* text = allocate_for_all(100000);
  if (rank == ranks - 1) memset(text, 'x', 100000);
  CHECK(musubi_barrier() == MUSUBI_OK);
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(musubi_touch(text, 4096, 0) == MUSUBI_OK);
  CHECK(write(ends[1], text, 4096) == 4096);
  CHECK(musubi_barrier() == MUSUBI_OK);
  if (rank == 0) {
    CHECK(musubi_touch(text + 50000, 4096, 1) == MUSUBI_OK);
    CHECK(read(ends[0], text + 50000, 4096) == 4096);
    CHECK(text[50000] == 'x' && text[54095] == 'x');
  }
}

int main(int argc, char** argv) {
  if (musubi_rank() != -1 || musubi_size() != 0 || musubi_alloc(1) != NULL || musubi_barrier() == MUSUBI_OK) {
    return 98; /* no job exists yet */
  }
  const char* const name = join_job(argc, argv);
  static const struct test_case cases[] = {
      {"misuse", misuse},   {"contention", contention}, {"travelling_memory", travelling_memory},
      {"flushes", flushes}, {"threads", threads},       {"system_calls", system_calls}};
  if (run_case(name, cases, sizeof cases / sizeof cases[0])) return musubi_finalize(0);
  if (strcmp(name, "largest_status") == 0) {
    musubi_finalize(rank == 1 ? 42 : rank);
    printf("rank %d has left the job\n", rank);
    return 0;
  }
  if (strcmp(name, "no_finalize") == 0) return 0;
  if (strcmp(name, "abort") == 0 && rank == ranks - 1) musubi_abort(43, "as the test wants it");
  musubi_barrier(); /* for "abort": the last rank never arrives */
  return 96;
}
