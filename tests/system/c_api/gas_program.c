/* A rank of a job that tries gas.h: gas_program <case>. Each case checks itself. */
#include <musubi/gas.h>
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
              gas_error_text(gas_error()));                                                                \
      musubi_abort(99, "a check of the test failed");                                                      \
    }                                                                                                      \
  } while (0)
#define REFUSED(call, reason) CHECK((call) == -1 && gas_error() == (reason))

static void meet(void) {
  CHECK(musubi_barrier() == MUSUBI_OK);
}

/* Refused calls, and that they have no effect. */
static void refused(void) {
  char bytes[64] = {0};
  void* memory = NULL;
  const gas_address none[] = {0, 1, (gas_address)1 << 40, (gas_address)77 << 40, ~(gas_address)0};
  for (size_t i = 0; i < sizeof none / sizeof *none; ++i) REFUSED(gas_get(none[i], bytes, 1), GAS_RANGE);
  CHECK(gas_alloc(0, 4096, GAS_BLOCK) == 0 && gas_error() == GAS_RANGE);
  CHECK(gas_alloc((size_t)1 << 40, 4096, GAS_BLOCK) == 0 && gas_error() == GAS_RANGE);
  const size_t no_pages[] = {0, 32, 96, 4095, 32 << 20};
  for (size_t i = 0; i < sizeof no_pages / sizeof *no_pages; ++i)
    CHECK(gas_alloc(8192, no_pages[i], GAS_BLOCK) == 0 && gas_error() == GAS_PAGE);
  CHECK(gas_alloc(8192, 4096, -3) == 0 && gas_error() == GAS_PLACEMENT);
  CHECK(gas_alloc(8192, 4096, ranks) == 0 && gas_error() == GAS_PLACEMENT);
  CHECK(gas_alloc((size_t)200 << 30, 16 << 20, 0) == 0 && gas_error() == GAS_MEMORY);
  const gas_address pages = gas_alloc(10000, 4096, GAS_CYCLIC);
  CHECK(pages != 0 && gas_error() == GAS_OK);
  meet();
  REFUSED(gas_get(pages, bytes, 10001), GAS_RANGE);
  REFUSED(gas_put(pages + 10000, bytes, 1), GAS_RANGE);
  REFUSED(gas_put(pages - 1, bytes, 1), GAS_RANGE);
  REFUSED(gas_get(pages + 1, bytes, SIZE_MAX), GAS_RANGE);
  REFUSED(gas_get(pages, NULL, 1), GAS_POINTER);
  REFUSED(gas_put_begin(pages, NULL, 1), GAS_POINTER);
  REFUSED(gas_get_begin(pages + 9999, bytes, 2), GAS_RANGE);
  CHECK(gas_get(pages + 10000, NULL, 0) == 0);
  REFUSED(gas_put_strided(pages, 5000, bytes, 8, 3), GAS_RANGE);
  REFUSED(gas_get_strided(pages, -8, bytes, 8, 2), GAS_RANGE);
  REFUSED(gas_get_indexed(pages, NULL, bytes, 8, 2), GAS_POINTER);
  const ptrdiff_t places[] = {0, 9993};
  REFUSED(gas_put_indexed(pages, places, bytes, 8, 2), GAS_RANGE);
  REFUSED(gas_own(pages + 9000, 1001), GAS_RANGE);
  const gas_address list[] = {pages, pages + 10000};
  REFUSED(gas_own_list(list, 2), GAS_RANGE);
  REFUSED(gas_own_list(NULL, 1), GAS_POINTER);
  REFUSED(gas_where(pages + 10000), GAS_RANGE);
  REFUSED(gas_fetch_add(pages + 4, 1, NULL), GAS_ALIGNMENT);
  REFUSED(gas_swap(pages + 9993, 1, NULL), GAS_RANGE);
  REFUSED(gas_wait(5), GAS_HANDLE);
  REFUSED(gas_test(-1), GAS_HANDLE);
  CHECK(gas_wait(0) == 0 && gas_test(0) == 1);
  REFUSED(gas_free(pages + 1), GAS_RANGE);
  REFUSED(gas_share(pages + 4096, &memory), GAS_RANGE);
  REFUSED(gas_share(pages, NULL), GAS_POINTER);
  REFUSED(gas_unshare(pages), GAS_SHARED);
  meet();
  static char zeros[10000], found[10000];
  CHECK(gas_get(pages, found, 10000) == 0 && memcmp(found, zeros, 10000) == 0);
  for (int i = 0; i < 3; ++i) CHECK(gas_where(pages + (gas_address)i * 4096) == i % ranks);
  meet();
  CHECK(gas_free(pages) == 0);
  REFUSED(gas_get(pages, bytes, 1), GAS_RANGE);
  REFUSED(gas_free(pages), GAS_RANGE);
  for (int error = GAS_OK; error <= GAS_SHARED; ++error)
    CHECK(strcmp(gas_error_text(error), gas_error_text(-1)) != 0);
}

/* Homes by each rule, and moves of single pages, of runs and of lists. */
static void owners(void) {
  for (int placement = GAS_CYCLIC; placement < ranks; ++placement) {
    const int count = 7;
    const gas_address pages = gas_alloc((size_t)count * 256 - 100, 256, placement);
    CHECK(pages != 0);
    const int of_rank = (count + ranks - 1) / ranks;
    for (int i = 0; i < count; ++i) {
      const int home = placement >= 0 ? placement : placement == GAS_BLOCK ? i / of_rank : i % ranks;
      CHECK(gas_where(pages + (gas_address)i * 256) == home);
    }
    meet();
    if (rank == ranks - 1) {
      CHECK(gas_own(pages + 300, 300) == 0); /* pages 1 and 2 */
      const gas_address list[] = {pages + 6 * 256, pages + 4 * 256 + 9};
      CHECK(gas_own_list(list, 2) == 0);
      const long handle = gas_own_begin(pages + 5 * 256, 1);
      CHECK(handle >= 0 && gas_wait(handle) == 0 && gas_own(pages, 0) == 0);
    }
    meet();
    for (int i = 1; i < count; ++i) {
      if (i != 3) CHECK(gas_where(pages + (gas_address)i * 256) == ranks - 1);
    }
    meet();
    CHECK(gas_free(pages) == 0);
  }
}

/* Between any page and private or shared memory, in every form, while pages are here and elsewhere. */
static void copies(void) {
  enum { most = 50000, items = 100 };
  static char out[most], in[most];
  const gas_address pages = gas_alloc((size_t)ranks * most, 1024, GAS_BLOCK);
  CHECK(pages != 0);
  char* const shared = musubi_alloc(most);
  const gas_address part = pages + (gas_address)((rank + 1) % ranks) * most;
  for (size_t bytes = 0; bytes <= most; bytes = bytes * 3 + 1) {
    for (size_t i = 0; i < bytes; ++i) shared[i] = out[i] = (char)(i * 7 + bytes);
    CHECK(gas_put(part, out, bytes) == 0 && gas_get(part, in, bytes) == 0 && memcmp(in, out, bytes) == 0);
    CHECK(gas_own(part + bytes / 2, bytes / 3) == 0);
    memset(shared, 0, most);
    CHECK(gas_get(part, shared, bytes) == 0 && memcmp(shared, out, bytes) == 0);
    CHECK(gas_put(part, shared, bytes) == 0 && gas_get(part, in, bytes) == 0 && memcmp(in, out, bytes) == 0);
  }
  for (int i = 0; i < most; ++i) out[i] = (char)(i * 13);
  CHECK(gas_put_strided(part, 300, out, 24, items) == 0);
  CHECK(gas_get_strided(part + 99 * 300, -300, in, 24, items) == 0);
  for (int i = 0; i < items; ++i) CHECK(memcmp(in + i * 24, out + (items - 1 - i) * 24, 24) == 0);
  ptrdiff_t places[items];
  for (int i = 0; i < items; ++i) places[i] = i * 37 % items * 400;
  CHECK(gas_put_indexed(part, places, out, 40, items) == 0);
  CHECK(gas_get_indexed(part, places, in, 40, items) == 0 && memcmp(in, out, items * 40) == 0);
  long handles[items];
  for (int i = 0; i < items; ++i) handles[i] = gas_put_begin(part + i * 500, out + i * 500, 500);
  for (int i = 0; i < items; ++i) CHECK(handles[i] >= 0 && gas_wait(handles[i]) == 0);
  for (int i = 0; i < items; ++i) handles[i] = gas_get_begin(part + i * 500, in + i * 500, 500);
  for (int i = 0; i < items; ++i) {
    int is_complete;
    while ((is_complete = gas_test(handles[i])) == 0) continue;
    CHECK(is_complete == 1);
  }
  CHECK(memcmp(in, out, most) == 0);
  meet();
  CHECK(gas_free(pages) == 0 && musubi_free(shared) == MUSUBI_OK);
}

/* Every kind, alone, then all ranks and threads at the same words while the pages move around. */
enum { turns = 400, threads = 3 };
static gas_address contended;

static void* add_and_move(void* argument) {
  const int me = (int)(intptr_t)argument;
  if (me != 0) CHECK(musubi_attach_thread() == MUSUBI_OK);
  uint64_t own = 0, found = 0;
  const gas_address mine = contended + 1024 + (gas_address)(rank * threads + me) * 8;
  for (int i = 0; i < turns; ++i) {
    CHECK(gas_fetch_add(contended + (gas_address)(i % 4) * 256, 1, NULL) == 0);
    if (i % 7 == me) CHECK(gas_own(contended + (gas_address)(i % 6) * 256, 1) == 0);
    ++own;
    CHECK(gas_put(mine, &own, sizeof own) == 0 && gas_get(mine, &found, sizeof found) == 0 && found == own);
  }
  if (me != 0) CHECK(musubi_detach_thread() == MUSUBI_OK);
  return NULL;
}

static void contention(void) {
  contended = gas_alloc(2048, 256, GAS_CYCLIC);
  CHECK(contended != 0 && ranks * threads * 8 <= 1024);
  uint64_t old = 1;
  const gas_address word = contended + 2040;
  meet();
  if (rank == 0) {
    CHECK(gas_fetch_add(word, 5, &old) == 0 && old == 0);
    CHECK(gas_swap(word, 0xff0f, &old) == 0 && old == 5);
    CHECK(gas_compare_swap(word, 5, 9, &old) == 0 && old == 0xff0f);
    CHECK(gas_compare_swap(word, 0xff0f, 0xff, &old) == 0 && old == 0xff0f);
    CHECK(gas_fetch_and(word, 0x3c, &old) == 0 && old == 0xff);
    CHECK(gas_fetch_or(word, 0x41, &old) == 0 && old == 0x3c);
    CHECK(gas_fetch_xor(word, 0xff, &old) == 0 && old == 0x7d);
    CHECK(gas_get(word, &old, sizeof old) == 0 && old == 0x82);
  }
  pthread_t others[threads];
  for (int i = 1; i < threads; ++i)
    CHECK(pthread_create(&others[i], NULL, add_and_move, (void*)(intptr_t)i) == 0);
  add_and_move(NULL);
  for (int i = 1; i < threads; ++i) CHECK(pthread_join(others[i], NULL) == 0);
  meet();
  uint64_t sum = 0;
  for (gas_address page = 0; page < 4; ++page) {
    CHECK(gas_get(contended + page * 256, &old, sizeof old) == 0);
    sum += old;
  }
  CHECK(sum == (uint64_t)turns * threads * (uint64_t)ranks);
  meet();
  CHECK(gas_free(contended) == 0);
}

/* Both halves of a word in a longer range come from one put. Ranges begin inside of a word, some end
 * there, and the private side is anywhere; a put covers each checked word whole. */
static void whole_words(void) {
  enum { range = 4 + 5 * 8 + 4, first = 4 };
  const gas_address pages = gas_alloc(64, 64, 0);
  CHECK(pages != 0);
  meet();
  char bytes[range + 1];
  for (uint32_t turn = 1; turn <= 300000; ++turn) {
    const int put_length = turn % 2 == 0 ? range : 4 + 8 * (int)(turn % 5 + 1);
    const int length = rank == 0 ? put_length : (int)(turn * 5 % range) + 1;
    char* const local = bytes + turn % 2;
    for (int at = 0; at < range; at += 4) memcpy(local + at, &turn, 4);
    if (rank == 0) {
      CHECK(gas_put(pages + first, local, (size_t)length) == 0);
      continue;
    }
    CHECK(gas_get(pages + first, local, (size_t)length) == 0);
    for (int at = 4; at + 8 <= length; at += 8) CHECK(memcmp(local + at, local + at + 4, 4) == 0);
  }
  meet();
  CHECK(gas_free(pages) == 0);
}

/* More pages than a rank knows at a time, all of them used by all ranks. */
static void evictions(void) {
  enum { count = 500 };
  const gas_address pages = gas_alloc(count * 64, 64, GAS_CYCLIC);
  CHECK(pages != 0);
  for (int turn = 1; turn <= 3; ++turn) {
    for (int i = rank; i < count; i += ranks) {
      const uint64_t value = (uint64_t)(turn * count + i);
      CHECK(gas_put(pages + (gas_address)i * 64, &value, sizeof value) == 0);
      if (i % 3 == 0) CHECK(gas_own(pages + (gas_address)((i * 7) % count) * 64, 1) == 0);
    }
    meet();
    for (int i = 0; i < count; ++i) {
      uint64_t value = 0;
      CHECK(gas_get(pages + (gas_address)i * 64, &value, sizeof value) == 0);
      CHECK(value == (uint64_t)(turn * count + i));
    }
    meet();
  }
  CHECK(gas_free(pages) == 0);
}

/* Global pages that are shared memory in alternate phases: plain loads and stores here, calls there. */
static void sharing(void) {
  enum { words = 5000 };
  const gas_address pages = gas_alloc(words * 8, 2048, GAS_BLOCK);
  const gas_address others = gas_alloc(64, 64, 0);
  CHECK(pages != 0 && others != 0);
  for (uint64_t turn = 1; turn <= 3; ++turn) {
    for (int i = rank; i < words; i += ranks) {
      const uint64_t value = turn * words + (uint64_t)i;
      CHECK(gas_put(pages + (gas_address)i * 8, &value, sizeof value) == 0);
    }
    CHECK(gas_own(pages + (gas_address)rank * 2048, 4096) == 0);
    meet();
    void* memory = NULL;
    CHECK(gas_share(pages, &memory) == 0 && memory != NULL);
    REFUSED(gas_share(pages, &memory), GAS_SHARED);
    REFUSED(gas_own(pages, 1), GAS_SHARED);
    const gas_address list[] = {others, pages};
    REFUSED(gas_own_list(list, 2), GAS_SHARED);
    CHECK(gas_where(others) == 0);
    REFUSED(gas_own_begin(pages, 1), GAS_SHARED);
    uint64_t* const shared = memory;
    for (int i = 0; i < words; ++i) CHECK(shared[i] == turn * words + (uint64_t)i);
    meet();
    for (int i = rank; i < words; i += ranks) shared[i] += 7;
    meet();
    for (int i = 0; i < words; ++i) {
      uint64_t value = 0;
      CHECK(gas_get(pages + (gas_address)i * 8, &value, sizeof value) == 0);
      CHECK(value == turn * words + (uint64_t)i + 7);
    }
    meet();
    CHECK(gas_fetch_add(pages, 1, NULL) == 0);
    meet();
    CHECK(shared[0] == turn * words + 7 + (uint64_t)ranks);
    CHECK(gas_unshare(pages) == 0);
    uint64_t value = 0;
    CHECK(gas_get(pages + 8, &value, sizeof value) == 0 && value == turn * words + 1 + 7);
    meet();
  }
  CHECK(gas_free(pages) == 0 && gas_free(others) == 0);
}

/* Shared memory of a freed allocation serves the next allocations: segments_bytes is small. */
static void sharing_again(void) {
  for (uint64_t turn = 1; turn <= 40; ++turn) {
    const size_t words = (size_t)1 << (turn % 4 == 0 ? 14 : 17);
    const gas_address pages = gas_alloc(words * 8, 4096, GAS_BLOCK);
    CHECK(pages != 0);
    const gas_address mine = pages + (gas_address)rank * 8;
    CHECK(gas_put(mine, &turn, sizeof turn) == 0);
    void* memory = NULL;
    CHECK(gas_share(pages, &memory) == 0);
    const uint64_t* const shared = memory;
    for (size_t i = 0; i < words; ++i) CHECK(shared[i] == (i < (size_t)ranks ? turn : 0));
    meet();
    memset((char*)memory + rank * 8, 0xff, 8);
    if (turn % 2 == 0) CHECK(gas_unshare(pages) == 0);
    CHECK(gas_free(pages) == 0);
  }
}

/* Freed memory is available again, wherever the pages were. */
static void again(void) {
  for (int i = 0; i < 40; ++i) {
    const gas_address pages = gas_alloc((size_t)8 << 20, 65536, GAS_CYCLIC);
    CHECK(pages != 0);
    meet();
    CHECK(gas_own(pages + (gas_address)rank * 65536 * 3, (size_t)1 << 20) == 0);
    meet();
    CHECK(gas_free(pages) == 0);
  }
}

/* Rank 1 dies while all ranks move a few pages: one that has them all keeps a core busy. The job ends. */
static void death(void) {
  const gas_address pages = gas_alloc(64 * 64, 64, GAS_CYCLIC);
  CHECK(pages != 0);
  for (gas_address i = 0;; ++i) {
    CHECK(gas_own(pages + i * 7 % 64 * 64, 1) == 0 && gas_put(pages + i % 64 * 64, (char[64]){0}, 64) == 0);
    if (rank == 1 && i == 200) raise(SIGKILL);
  }
}

static void other_call(void) {
  if (rank == 1) {
    gas_alloc(64, 64, 0);
  } else {
    gas_alloc(64, 128, 0);
  }
}

static void other_order(void) {
  const gas_address pages = gas_alloc(64, 64, 0);
  if (rank == 1) {
    gas_free(pages);
  } else {
    gas_alloc(64, 64, 0);
  }
}

/* Process 0 uses a page of the last process, which it knows; the report counts its trips. */
static void hits(void) {
  const gas_address page = gas_alloc(4096, 4096, ranks - 1);
  CHECK(page != 0);
  uint64_t word = 0;
  for (int i = 0; i < 500 && rank == 0; ++i) CHECK(!gas_put(page, &word, 8) && !gas_get(page, &word, 8));
  meet();
}

/* Two processes alternately bring a page to themselves. */
static void to_and_fro(void) {
  const gas_address page = gas_alloc(4096, 4096, 0);
  CHECK(page != 0);
  for (int i = 1; i <= 200; ++i) {
    if (rank == i % 2) CHECK(gas_own(page, 1) == 0 && gas_where(page) == rank);
    meet();
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*play)(void);
  } cases[] = {{"refused", refused},
               {"owners", owners},
               {"copies", copies},
               {"contention", contention},
               {"evictions", evictions},
               {"sharing", sharing},
               {"again", again},
               {"death", death},
               {"sharing_again", sharing_again},
               {"whole_words", whole_words},
               {"hits", hits},
               {"to_and_fro", to_and_fro},
               {"other_call", other_call},
               {"other_order", other_order}};
  char byte = 0;
  REFUSED(gas_get(1, &byte, 1), GAS_STATE);
  CHECK(gas_alloc(64, 64, 0) == 0 && gas_error() == GAS_STATE);
  REFUSED(gas_get_indexed(1, NULL, &byte, 1, 1), GAS_STATE);
  REFUSED(gas_put_indexed(1, NULL, &byte, 1, 1), GAS_STATE);
  REFUSED(gas_wait(0), GAS_STATE);
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
