/* A rank of a job that tries gheap.h: gheap_program <case>. Each case checks itself. */
#include <limits.h>
#include <musubi/gas.h>
#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      fprintf(stderr, "%s:%d: rank %d: not true: %s (reason: %s)\n", __FILE__, __LINE__, rank, #condition, \
              musubi_gerror_text(musubi_gerror()));                                                        \
      musubi_abort(99, "a check of the test failed");                                                      \
    }                                                                                                      \
  } while (0)
#define REFUSED(call, result, reason) CHECK((call) == (result) && musubi_gerror() == (reason))

enum { size = 1 << 20 };

static void begin(void) {
  CHECK(ginit(size + rank) == 0);
  CHECK(musubi_barrier() == MUSUBI_OK);
}

static int next(void) {
  return (rank + 1) % ranks;
}

/* As published: the results of each call, and the calls that are refused. */
static void published(void) {
  long low = -1, high = -1;
  REFUSED(gbrk(0, 0, 1), -1, MUSUBI_GHEAP_STATE);
  REFUSED(sgbrk(0, 1), -1, MUSUBI_GHEAP_STATE);
  REFUSED(gglimit(0, &low, &high), -1, MUSUBI_GHEAP_STATE);
  REFUSED(sglimit(0), -1, MUSUBI_GHEAP_STATE);
  REFUSED(musubi_gwait(0), -1, MUSUBI_GHEAP_STATE);
  REFUSED(musubi_gtest(0), -1, MUSUBI_GHEAP_STATE);
  begin();
  REFUSED(ginit(size), -1, MUSUBI_GHEAP_STATE);
  const int proc = next();
  CHECK(gglimit(proc, &low, &high) == 0 && low == 0 && high == size + proc);
  CHECK(gglimit(proc, NULL, NULL) == 0);
  CHECK(gbrk(proc, 0, 100) == 100 && musubi_gerror() == MUSUBI_GHEAP_OK);
  REFUSED(gbrk(proc, 0, 200), 100, MUSUBI_GHEAP_STALE);
  REFUSED(gbrk(proc, 100, size + proc + 1), 100, MUSUBI_GHEAP_FULL);
  REFUSED(gbrk(proc, 100, -1), 100, MUSUBI_GHEAP_RANGE);
  CHECK(sgbrk(proc, 28) == 100 && sgbrk(proc, 0) == 128 && sgbrk(proc, -28) == 128);
  REFUSED(sgbrk(proc, size + proc), -1, MUSUBI_GHEAP_FULL);
  REFUSED(sgbrk(proc, LONG_MAX), -1, MUSUBI_GHEAP_FULL);
  REFUSED(sgbrk(proc, -101), -1, MUSUBI_GHEAP_RANGE);
  CHECK(gbrk(proc, 100, size + proc) == size + proc);
  REFUSED(sgbrk(proc, 1), -1, MUSUBI_GHEAP_FULL);
  CHECK(gbrk(proc, size + proc, 0) == 0);
  for (int i = 0; i < 2; ++i) {
    const int none = i == 0 ? -1 : ranks;
    REFUSED(gbrk(none, 0, 1), -1, MUSUBI_GHEAP_PROCESS);
    REFUSED(sgbrk(none, 1), -1, MUSUBI_GHEAP_PROCESS);
    REFUSED(gglimit(none, &low, &high), -1, MUSUBI_GHEAP_PROCESS);
    REFUSED(musubi_ggrow(none, 1, NULL, NULL), -1, MUSUBI_GHEAP_PROCESS);
    REFUSED(musubi_gget(none, 0, &low, 8), -1, MUSUBI_GHEAP_PROCESS);
    REFUSED(musubi_gput(none, 0, &low, 8), -1, MUSUBI_GHEAP_PROCESS);
    CHECK(musubi_gaddress(none, 0) == NULL && musubi_gerror() == MUSUBI_GHEAP_PROCESS);
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  CHECK(sgbrk(rank, 50) == 0 && sglimit(1000) == 0);
  CHECK(gglimit(rank, &low, &high) == 0 && low == 50 && high == 1000);
  REFUSED(sgbrk(rank, 951), -1, MUSUBI_GHEAP_FULL);
  REFUSED(sglimit(49), -1, MUSUBI_GHEAP_FULL);
  REFUSED(sglimit(size + rank + 1), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(sglimit(-1), -1, MUSUBI_GHEAP_RANGE);
  CHECK(sglimit(size + rank) == 0);
  for (int error = MUSUBI_GHEAP_OK; error <= MUSUBI_GHEAP_HANDLE; ++error) {
    CHECK(strcmp(musubi_gerror_text(error), musubi_gerror_text(-1)) != 0);
  }
}

/* A process whose heap is refused has no heap memory, and the job goes on. */
static void refused_heap(void) {
  long low = -1, high = -1;
  if (rank == 0) {
    REFUSED(ginit(LONG_MAX), -1, MUSUBI_GHEAP_CAPACITY);
  } else {
    CHECK(ginit(size) == 0);
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  CHECK(gglimit(0, &low, &high) == 0 && low == 0 && high == 0);
  REFUSED(sgbrk(0, 1), -1, MUSUBI_GHEAP_FULL);
}

static pthread_key_t key_of_thread;
enum { objects_of_thread = 100 };

static void free_at_end(void* objects) {
  long* const places = objects;
  for (int i = 0; i < objects_of_thread; ++i) CHECK(musubi_gfree(next(), places[i]) == 0);
  free(places);
  CHECK(musubi_detach_thread() == MUSUBI_OK);
}

static void* allocate_to_the_end(void* unused) {
  (void)unused;
  CHECK(musubi_attach_thread() == MUSUBI_OK);
  long* const places = malloc(objects_of_thread * sizeof *places);
  CHECK(places != NULL && pthread_setspecific(key_of_thread, places) == 0);
  for (int i = 0; i < objects_of_thread; ++i) CHECK((places[i] = musubi_galloc(next(), 200)) >= 0);
  return NULL;
}

/* The destructor of a thread's key runs late in the thread's life, and is part of it: other ranks can use
 * the memory that it frees. */
static void ends_of_threads(void) {
  begin();
  CHECK(pthread_key_create(&key_of_thread, free_at_end) == 0);
  long low = -1, high = -1;
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate_to_the_end, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (round == 0) CHECK(gglimit(next(), &low, NULL) == 0);
  }
  CHECK(gglimit(next(), &high, NULL) == 0 && high == low);
}

/* Memory taken by gas.h leaves no room: global_bytes is small. */
static void no_room(void) {
  CHECK(gas_alloc(64, 64, 0) != 0);
  for (int i = 0; i < 2; ++i) REFUSED(ginit(0), -1, MUSUBI_GHEAP_CAPACITY);
  REFUSED(musubi_galloc(0, 8), -1, MUSUBI_GHEAP_STATE);
}

/* Global pages for which there is no room take none: the table of known pages is large. */
static void no_pages(void) {
  for (int i = 0; i < 2; ++i) CHECK(gas_alloc(64, 64, 0) == 0 && gas_error() == GAS_MEMORY);
  CHECK(ginit(0) == 0);
  CHECK(musubi_galloc(next(), 8) >= 0);
}

/* All processes take from one heap: no byte twice. Each then writes its own bytes, and the owner reads
   them. */
static void contention(void) {
  enum { rounds = 200, bytes = 24 };
  begin();
  const int proc = ranks - 1;
  uint64_t block[bytes / 8];
  for (int i = 0; i < rounds; ++i) {
    const long place = sgbrk(proc, bytes);
    CHECK(place >= 0 && place % bytes == 0);
    uint64_t before[bytes / 8];
    CHECK(musubi_gget(proc, place, before, bytes) == 0);
    for (int w = 0; w < bytes / 8; ++w) {
      CHECK(before[w] == 0);
      block[w] = (uint64_t)(rank + 1) << 32 | (uint64_t)i << 8 | (uint64_t)w;
    }
    CHECK(musubi_gput(proc, place, block, bytes) == 0);
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  if (rank == proc) {
    const uint64_t* const all = musubi_gaddress(proc, 0);
    CHECK(all != NULL);
    uint64_t sum = 0;
    for (long w = 0; w < (long)ranks * rounds * bytes / 8; ++w) {
      CHECK((all[w] & 0xff) == (uint64_t)w % (bytes / 8));
      sum += all[w] >> 32;
    }
    CHECK(sum == (uint64_t)rounds * (bytes / 8) * (uint64_t)ranks * (uint64_t)(ranks + 1) / 2);
    CHECK(sgbrk(proc, 0) == (long)ranks * rounds * bytes);
  }
}

/* Local memory at the end, growth after it, and the remaining memory. */
static void growth(void) {
  long left = -1, left_bytes = -1, low = -1, high = -1;
  begin();
  const int proc = next();
  CHECK(musubi_ggrow(proc, 4096, &left, &left_bytes) == 0 && left_bytes == 0);
  CHECK(gglimit(proc, &low, &high) == 0 && low == 0 && high == size + proc + 4096);
  char byte = 7;
  CHECK(musubi_gput(proc, size + proc + 4095, &byte, 1) == 0);
  REFUSED(musubi_gput(proc, size + proc + 4096, &byte, 1), -1, MUSUBI_GHEAP_RANGE);
  CHECK(musubi_barrier() == MUSUBI_OK);
  CHECK(sglimit(5000) == 0);
  CHECK(musubi_barrier() == MUSUBI_OK);
  CHECK(sgbrk(proc, 1000) == 0);
  CHECK(musubi_ggrow(proc, 4096, &left, &left_bytes) == 0 && left == 1000 && left_bytes == 4000);
  CHECK(gglimit(proc, &low, &high) == 0 && low == size + proc + 4096 && high == low + 4096);
  CHECK(sgbrk(proc, 4096) == low);
  REFUSED(sgbrk(proc, 1), -1, MUSUBI_GHEAP_FULL);
  CHECK(musubi_ggrow(proc, 8, NULL, NULL) == 0);
  REFUSED(musubi_ggrow(proc, -1, NULL, NULL), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_ggrow(proc, LONG_MAX, NULL, NULL), -1, MUSUBI_GHEAP_CAPACITY);
}

/* Between any heap and private or shared memory, of every size; and ranges outside of a heap. */
static void copies(void) {
  enum { most = 100000 };
  static char out[most], in[most];
  begin();
  const int proc = next();
  char* const shared = musubi_alloc(most);
  CHECK(shared != NULL);
  for (size_t bytes = 0; bytes <= most; bytes = bytes * 3 + 1) {
    for (size_t i = 0; i < bytes; ++i) shared[i] = out[i] = (char)(i * 7 + bytes);
    CHECK(musubi_gput(proc, 3, out, bytes) == 0 && musubi_gget(proc, 3, in, bytes) == 0);
    CHECK(memcmp(in, out, bytes) == 0);
    memset(shared, 0, most);
    CHECK(musubi_gget(proc, 3, shared, bytes) == 0 && memcmp(shared, out, bytes) == 0);
    CHECK(musubi_gput(proc, 200000, shared, bytes) == 0 && musubi_gget(proc, 200000, in, bytes) == 0);
    CHECK(memcmp(in, out, bytes) == 0);
  }
  /* Only begun, many at a time, between private memory and shared. */
  enum { parts = 50, part = most / parts };
  long handles[2 * parts];
  for (size_t i = 0; i < most; ++i) shared[i] = out[i] = (char)(i * 11);
  for (int i = 0; i < parts; ++i) {
    handles[2 * i] = musubi_gput_begin(proc, i * part, out + i * part, part);
    handles[2 * i + 1] = musubi_gput_begin(proc, 200000 + i * part, shared + i * part, part);
  }
  for (int i = 0; i < 2 * parts; ++i) CHECK(handles[i] >= 0 && musubi_gwait(handles[i]) == 0);
  memset(shared, 0, most);
  for (int i = 0; i < parts; ++i) {
    handles[2 * i] = musubi_gget_begin(proc, 200000 + i * part, in + i * part, part);
    handles[2 * i + 1] = musubi_gget_begin(proc, i * part, shared + i * part, part);
  }
  for (int i = 0; i < 2 * parts; ++i) {
    int is_complete = 0;
    while ((is_complete = musubi_gtest(handles[i])) == 0) continue;
    CHECK(is_complete == 1);
  }
  CHECK(memcmp(in, out, most) == 0 && memcmp(shared, out, most) == 0);
  for (int i = 0; i < 3; ++i) {
    const long none = i == 0 ? -1 : i == 1 ? 1 : LONG_MAX;
    REFUSED(musubi_gwait(none), -1, MUSUBI_GHEAP_HANDLE);
    REFUSED(musubi_gtest(none), -1, MUSUBI_GHEAP_HANDLE);
  }
  REFUSED(musubi_gget_begin(proc, -1, in, 1), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_gput_begin(proc, 0, NULL, 1), -1, MUSUBI_GHEAP_ADDRESS);
  REFUSED(musubi_gput_begin(ranks, 0, out, 1), -1, MUSUBI_GHEAP_PROCESS);
  REFUSED(musubi_gget(proc, -1, in, 1), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_gget(proc, size + proc, in, 1), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_gget(proc, 8, in, SIZE_MAX), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_gput(proc, size + proc - 1, out, 2), -1, MUSUBI_GHEAP_RANGE);
  REFUSED(musubi_gput(proc, 0, NULL, 1), -1, MUSUBI_GHEAP_ADDRESS);
  REFUSED(musubi_gget(proc, 0, NULL, 1), -1, MUSUBI_GHEAP_ADDRESS);
  CHECK(musubi_gaddress(rank, size + rank) != NULL);
  CHECK(musubi_gaddress(rank, size + rank + 1) == NULL && musubi_gerror() == MUSUBI_GHEAP_RANGE);
  CHECK(musubi_barrier() == MUSUBI_OK && musubi_free(shared) == MUSUBI_OK);
}

/* Rank 0 dies with the lock of its heap: the other ranks, which wait for it, end with the job. */
static void death(void) {
  begin();
  if (rank == 0) {
    /* The lock is the first word of the page before the heap. */
    *(volatile uint64_t*)((char*)musubi_gaddress(0, 0) - 4096) = 1;
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  if (rank == 0) {
    usleep(200000);
    raise(SIGKILL);
  }
  sgbrk(0, 1);
  CHECK(!"the lock was given back");
}

/* A rank dies while it holds the lock of another rank's pool of pages, and all ranks want pages there. */
static void pool_death(void) {
  begin();
  const int owner = ranks - 1;
  if (rank == owner) {
    /* The lock is the first word after the heads of 152 classes and of the empty nodes, 64 bytes each, at
     * the beginning of the three pages before the page of the breaks. */
    uint64_t* const lock = (uint64_t*)((char*)musubi_gaddress(owner, 0) - 4 * 4096 + 153 * 64);
    CHECK(*lock == 0);
    *lock = 1;
  }
  CHECK(musubi_barrier() == MUSUBI_OK);
  if (rank == 0) {
    usleep(200000);
    raise(SIGKILL);
  }
  gmap(owner, 1, 0);
  CHECK(!"the lock was given back");
}

/* Process 0's operations on a remote break; the report counts their trips. */
static void trips(void) {
  begin();
  for (int i = 0; i < 1000 && rank == 0; ++i) CHECK(sgbrk(next(), i % 2 == 0 ? 64 : -64) >= 0);
  CHECK(musubi_barrier() == MUSUBI_OK);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*play)(void);
  } cases[] = {{"published", published},
               {"refused_heap", refused_heap},
               {"contention", contention},
               {"growth", growth},
               {"copies", copies},
               {"death", death},
               {"pool_death", pool_death},
               {"ends_of_threads", ends_of_threads},
               {"no_room", no_room},
               {"no_pages", no_pages},
               {"trips", trips}};
  long before = 0;
  REFUSED(ginit(size), -1, MUSUBI_GHEAP_STATE);
  REFUSED(gglimit(0, &before, NULL), -1, MUSUBI_GHEAP_STATE);
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
