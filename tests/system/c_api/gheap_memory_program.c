/* A rank of a job that tries the allocators of gheap.h: gheap_memory_program <case>. Each case checks
 * itself. */
#include <limits.h>
#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      fprintf(stderr, "%s:%d: rank %d: not true: %s (reason: %s)\n", __FILE__, __LINE__, rank, #condition, \
              musubi_gerror_text(musubi_gerror()));                                                        \
      musubi_abort(99, "a check of the test failed");                                                      \
    }                                                                                                      \
  } while (0)
#define REFUSED(call, reason) CHECK((call) == -1 && musubi_gerror() == (reason))
#define BARRIER() CHECK(musubi_barrier() == MUSUBI_OK)

enum { size = 1 << 20, page = 4096 };

static void begin(void) {
  CHECK(ginit(size) == 0);
  BARRIER();
}

static int next(void) {
  return (rank + 1) % ranks;
}

static long global_break(int proc) {
  long low = -1;
  CHECK(gglimit(proc, &low, NULL) == 0);
  return low;
}

/* A word that no other object has, at both ends of each. */
static void write_ends(int proc, long place, size_t bytes, uint64_t word) {
  CHECK(musubi_gput(proc, place, &word, 8) == 0);
  if (bytes >= 16) CHECK(musubi_gput(proc, place + (long)bytes - 8, &word, 8) == 0);
}
static void check_ends(int proc, long place, size_t bytes, uint64_t word) {
  uint64_t found = 0;
  CHECK(musubi_gget(proc, place, &found, 8) == 0 && found == word);
  if (bytes >= 16) CHECK(musubi_gget(proc, place + (long)bytes - 8, &found, 8) == 0 && found == word);
}

/* The results of each call, and the calls that are refused. */
static void refusals(void) {
  REFUSED(musubi_galloc(0, 8), MUSUBI_GHEAP_STATE);
  REFUSED(musubi_gfree(0, 0), MUSUBI_GHEAP_STATE);
  REFUSED(gmap(0, 8, 0), MUSUBI_GHEAP_STATE);
  REFUSED(gunmap(0, 0, 8), MUSUBI_GHEAP_STATE);
  begin();
  const int proc = next();
  for (int i = 0; i < 2; ++i) {
    const int none = i == 0 ? -1 : ranks;
    REFUSED(musubi_galloc(none, 8), MUSUBI_GHEAP_PROCESS);
    REFUSED(musubi_gfree(none, 0), MUSUBI_GHEAP_PROCESS);
    REFUSED(gmap(none, 8, 0), MUSUBI_GHEAP_PROCESS);
    REFUSED(gunmap(none, 0, 8), MUSUBI_GHEAP_PROCESS);
  }
  const long by_break = sgbrk(proc, 100);
  const long object = musubi_galloc(proc, 100), large = musubi_galloc(proc, 400000);
  const long none = musubi_galloc(proc, 0), pages = gmap(proc, 3 * page, 0);
  CHECK(by_break == 0 && object > 0 && large > 0 && none > 0 && pages > 0);
  CHECK(object % 16 == 0 && large % 16 == 0 && none % 16 == 0 && pages % page == 0);
  REFUSED(musubi_galloc(proc, SIZE_MAX), MUSUBI_GHEAP_CAPACITY);
  REFUSED(musubi_galloc(proc, LONG_MAX), MUSUBI_GHEAP_CAPACITY);
  REFUSED(musubi_gfree(proc, -1), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, LONG_MAX), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, by_break), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, pages), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, object + 16), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, object + 1), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, large + 65536), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(musubi_gfree(proc, large + 320), MUSUBI_GHEAP_NOT_ALLOCATED);
  CHECK(musubi_gfree(proc, object) == 0 && musubi_gfree(proc, large) == 0 && musubi_gfree(proc, none) == 0);
  REFUSED(musubi_gfree(proc, object), MUSUBI_GHEAP_FREE_ALREADY);
  REFUSED(musubi_gfree(proc, large), MUSUBI_GHEAP_FREE_ALREADY);
  const long low = global_break(proc);
  CHECK(gbrk(proc, low, 0) == low && musubi_gerror() == MUSUBI_GHEAP_RANGE);
  REFUSED(sgbrk(proc, -1), MUSUBI_GHEAP_RANGE);
  CHECK(musubi_galloc(proc, 100) == object && musubi_galloc(proc, 400000) == large);
  for (int error = MUSUBI_GHEAP_OK; error <= MUSUBI_GHEAP_ALIGNMENT; ++error) {
    for (int other = MUSUBI_GHEAP_OK - 1; other < error; ++other) {
      CHECK(strcmp(musubi_gerror_text(error), musubi_gerror_text(other)) != 0);
    }
  }
}

/* Objects of one process's heap passed with the number of another process, whose heap has none there. */
static void wrong_process(void) {
  begin();
  BARRIER();
  if (rank == 0) {
    const long object = musubi_galloc(0, 1000);
    CHECK(object >= 0);
    if (ranks > 1) REFUSED(musubi_gfree(ranks - 1, object), MUSUBI_GHEAP_NOT_ALLOCATED);
    CHECK(musubi_gfree(0, object) == 0);
  }
}

/* gmap and gunmap: whole pages, parts, alignment, joining. */
static void pages(void) {
  begin();
  const int proc = next();
  REFUSED(gmap(proc, 0, 0), MUSUBI_GHEAP_RANGE);
  REFUSED(gmap(proc, page, 3 * page), MUSUBI_GHEAP_ALIGNMENT);
  REFUSED(gmap(proc, SIZE_MAX, 0), MUSUBI_GHEAP_CAPACITY);
  REFUSED(gmap(proc, page, (size_t)1 << 62), MUSUBI_GHEAP_CAPACITY);
  CHECK(sgbrk(proc, 10) == 0);
  const long first = gmap(proc, 10 * page - 5, 8);
  const long aligned = gmap(proc, 1, 1 << 20);
  CHECK(first == page && aligned > first && aligned % (1 << 20) == 0);
  REFUSED(gunmap(proc, first + 1, page), MUSUBI_GHEAP_RANGE);
  REFUSED(gunmap(proc, -page, page), MUSUBI_GHEAP_RANGE);
  REFUSED(gunmap(proc, first, 0), MUSUBI_GHEAP_RANGE);
  REFUSED(gunmap(proc, first, SIZE_MAX), MUSUBI_GHEAP_RANGE);
  REFUSED(gunmap(proc, 0, page), MUSUBI_GHEAP_NOT_ALLOCATED);
  REFUSED(gunmap(proc, 0, 5 * page), MUSUBI_GHEAP_NOT_ALLOCATED);
  CHECK(gunmap(proc, first + 4 * page, 2 * page) == 0);
  REFUSED(gunmap(proc, first + 4 * page, page), MUSUBI_GHEAP_FREE_ALREADY);
  REFUSED(gunmap(proc, first, 10 * page), MUSUBI_GHEAP_FREE_ALREADY);
  CHECK(gmap(proc, 2 * page, 0) == first + 4 * page);
  /* In any order, and joined. */
  CHECK(gunmap(proc, first + 7 * page, 3 * page) == 0 && gunmap(proc, first, 4 * page) == 0);
  CHECK(gunmap(proc, first + 4 * page, 3 * page) == 0);
  const long low = global_break(proc);
  CHECK(gmap(proc, 10 * page, 0) == first && global_break(proc) == low);
  CHECK(gunmap(proc, first, 10 * page) == 0);
  REFUSED(sgbrk(proc, -1), MUSUBI_GHEAP_RANGE);
}

/* All ranks take pages and objects of one heap at once, write them, and find them unchanged. */
static void mixed(void) {
  enum { rounds = 60 };
  begin();
  const int proc = ranks - 1;
  long place[rounds], mapped[rounds];
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < rounds; ++i) {
      place[i] = musubi_galloc(proc, (size_t)(i * i * 7 + 8));
      mapped[i] = gmap(proc, (size_t)(i % 3 + 1) * page, 0);
      CHECK(place[i] >= 0 && mapped[i] >= 0);
      write_ends(proc, place[i], (size_t)(i * i * 7 + 8) / 8 * 8, (uint64_t)rank << 32 | (uint64_t)i);
      write_ends(proc, mapped[i], (size_t)(i % 3 + 1) * page, (uint64_t)rank << 32 | 1u << 16 | (uint64_t)i);
    }
    for (int i = 0; i < rounds; ++i) {
      check_ends(proc, place[i], (size_t)(i * i * 7 + 8) / 8 * 8, (uint64_t)rank << 32 | (uint64_t)i);
      check_ends(proc, mapped[i], (size_t)(i % 3 + 1) * page, (uint64_t)rank << 32 | 1u << 16 | (uint64_t)i);
      CHECK(musubi_gfree(proc, place[i]) == 0 && gunmap(proc, mapped[i], (size_t)(i % 3 + 1) * page) == 0);
    }
  }
}

/* Rank 0 allocates, all ranks free: the memory circulates in batches, and the break stands still. */
static void passing(void) {
  enum { count = 1000 };
  begin();
  const int proc = ranks - 1;
  void* box = rank == 0 ? musubi_alloc(count * sizeof(long)) : NULL;
  CHECK(musubi_broadcast(&box) == MUSUBI_OK);
  long* const place = box;
  long steady = 0;
  for (int turn = 0; turn < 60; ++turn) {
    for (int i = 0; i < count && rank == 0; ++i) {
      place[i] = musubi_galloc(proc, (size_t)(i % 5 + 1) * 40);
      CHECK(place[i] >= 0);
      write_ends(proc, place[i], 40, (uint64_t)turn << 32 | (uint64_t)i);
    }
    BARRIER();
    for (int i = rank; i < count; i += ranks) {
      check_ends(proc, place[i], 40, (uint64_t)turn << 32 | (uint64_t)i);
      CHECK(musubi_gfree(proc, place[i]) == 0);
    }
    BARRIER();
    if (turn == 20) steady = global_break(proc);
  }
  /* Except for fluctuations in the caches of each size. */
  CHECK(global_break(proc) <= steady + 5 * 65536);
}

static void* use_and_end(void* detaches) {
  enum { count = 300 };
  long place[count];
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < count; ++i) {
      place[i] = musubi_galloc(next(), 200);
      CHECK(place[i] >= 0);
      write_ends(next(), place[i], 200, (uint64_t)(uintptr_t)place << 10 | (uint64_t)i);
    }
    for (int i = 0; i < count; ++i) {
      check_ends(next(), place[i], 200, (uint64_t)(uintptr_t)place << 10 | (uint64_t)i);
      CHECK(musubi_gfree(next(), place[i]) == 0);
    }
  }
  if (detaches != NULL) {
    CHECK(musubi_detach_thread() == MUSUBI_OK);
  }
  return NULL;
}

/* Threads of each process at once; later threads can use their cached objects. */
static void threads(void) {
  enum { at_once = 3 };
  begin();
  long steady = 0;
  for (int turn = 0; turn < 40; ++turn) {
    pthread_t thread[at_once];
    for (intptr_t i = 0; i < at_once; ++i) {
      CHECK(pthread_create(&thread[i], NULL, use_and_end, (void*)(i % 2)) == 0);
    }
    for (int i = 0; i < at_once; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    BARRIER();
    if (turn == 0) steady = global_break(rank);
    BARRIER();
  }
  /* Threads that overlap more than those of the first turn hold a span each. */
  CHECK(global_break(rank) <= steady + 2 * at_once * 65536);
}

static pthread_barrier_t detached, looked;

static void* detach_and_stay(void* unused) {
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  const long place = musubi_galloc(next(), 200);
  CHECK(place >= 0 && musubi_gfree(next(), place) == 0 && musubi_detach_thread() == MUSUBI_OK);
  pthread_barrier_wait(&detached);
  pthread_barrier_wait(&looked);
  return unused;
}

/* Other threads can use a thread's cached objects once it has detached, while it lives on. */
static void detaching(void) {
  begin();
  pthread_t thread;
  CHECK(pthread_barrier_init(&detached, NULL, 2) == 0 && pthread_barrier_init(&looked, NULL, 2) == 0);
  CHECK(pthread_create(&thread, NULL, detach_and_stay, NULL) == 0);
  pthread_barrier_wait(&detached);
  const long low = global_break(next());
  for (int i = 0; i < 290; ++i) CHECK(musubi_galloc(next(), 200) >= 0);
  CHECK(global_break(next()) == low);
  pthread_barrier_wait(&looked);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* Local memory at the end of the heap: the heap continues after it, and earlier free memory is still used. */
static void local_memory(void) {
  begin();
  const int proc = next();
  CHECK(sglimit(100000) == 0);
  memset(musubi_gaddress(rank, 100000), 0x5a, size - 100000);
  BARRIER();
  for (int i = 0; i < 40; ++i) {
    const long place = musubi_galloc(proc, 60000);
    CHECK(place >= 0 && (place + 60000 <= 100000 || place >= size));
    CHECK(musubi_gput(proc, place, &place, sizeof place) == 0);
  }
  const long within = gmap(proc, page, 0);
  CHECK(within >= 0 && within < 100000);
  BARRIER();
  const unsigned char* const local = musubi_gaddress(rank, 100000);
  for (long i = 0; i < size - 100000; ++i) CHECK(local[i] == 0x5a);
}

/* Up to the last object, twice: global_bytes is small. */
static void full(void) {
  enum { most = 4000 };
  static long place[most];
  begin();
  BARRIER();
  if (rank == 0) {
    int taken[2] = {0, 0};
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < most; ++i) {
        place[i] = musubi_galloc(ranks - 1, 5000);
        if (place[i] < 0) break;
        write_ends(ranks - 1, place[i], 5000, (uint64_t)i);
        ++taken[turn];
      }
      CHECK(musubi_gerror() == MUSUBI_GHEAP_CAPACITY && taken[turn] < most && taken[turn] > 100);
      for (int i = 0; i < taken[turn]; ++i) {
        check_ends(ranks - 1, place[i], 5000, (uint64_t)i);
        CHECK(musubi_gfree(ranks - 1, place[i]) == 0);
      }
    }
    CHECK(taken[0] == taken[1]);
  }
}

static void* free_and_end(void* place) {
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  const int result = musubi_gfree(0, *(long*)place);
  const int error = musubi_gerror();
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return (void*)(intptr_t)(result == 0 ? 0 : error);
}
static void* allocate_and_end(void* place) {
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  *(long*)place = musubi_galloc(0, 64);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

/* Rank 0 frees an object, the last rank frees the same, then rank 0 finds it again. Result: the second
   free's error. */
static int free_twice(long* object) {
  long* const box = musubi_alloc(sizeof *box);
  long* shared = box;
  CHECK(musubi_broadcast((void**)&shared) == MUSUBI_OK);
  if (rank == 0) {
    *shared = musubi_galloc(0, 64);
    CHECK(*shared >= 0 && musubi_gfree(0, *shared) == 0);
  }
  BARRIER();
  *object = *shared;
  void* error = NULL;
  pthread_t thread;
  if (rank == ranks - 1) {
    CHECK(pthread_create(&thread, NULL, free_and_end, object) == 0 && pthread_join(thread, &error) == 0);
  }
  BARRIER();
  return (int)(intptr_t)error;
}

static void hidden_double_free(void) {
  long object = -1, other = -1;
  begin();
  CHECK(free_twice(&object) == MUSUBI_GHEAP_OK);
  if (rank == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate_and_end, &other) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(other >= 0 && other != object && musubi_galloc(0, 64) == object);
  }
}

/* With gheap_checks=full. */
static void full_checks(void) {
  long object = -1;
  begin();
  const int error = free_twice(&object);
  if (rank == ranks - 1) {
    CHECK(error == MUSUBI_GHEAP_FREE_ALREADY);
    REFUSED(musubi_gfree(0, object + 64), MUSUBI_GHEAP_FREE_ALREADY);
    REFUSED(musubi_gfree(0, object + 128 * 64), MUSUBI_GHEAP_FREE_ALREADY);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*play)(void);
  } cases[] = {{"refusals", refusals},
               {"wrong_process", wrong_process},
               {"pages", pages},
               {"mixed", mixed},
               {"passing", passing},
               {"threads", threads},
               {"detaching", detaching},
               {"local_memory", local_memory},
               {"full", full},
               {"full_checks", full_checks},
               {"hidden_double_free", hidden_double_free}};
  REFUSED(musubi_galloc(0, 8), MUSUBI_GHEAP_STATE);
  if (argc != 2 || musubi_init(&argc, &argv) != MUSUBI_OK) return 98;
  rank = musubi_rank();
  ranks = musubi_size();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    cases[i].play();
    return musubi_finalize(0);
  }
  return 97;
}
