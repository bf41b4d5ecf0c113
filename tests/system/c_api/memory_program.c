/* A rank of a job that tries the memory of musubi.h: memory_program <case>. Each case checks itself. */
#include <errno.h>
#include <unistd.h>

#include "checks.h"

enum { bytes = 300000, words = bytes / 8 };

static uint64_t* with(musubi_attributes attributes, size_t size) {
  void* memory = NULL;
  CHECK(musubi_alloc_with(&attributes, size, &memory) == MUSUBI_OK && memory != NULL);
  return memory;
}

/* Every rank writes some words, and reads those of all ranks. */
static void share(uint64_t* memory, uint64_t salt) {
  BARRIER();
  for (int i = rank; i < words; i += ranks) memory[i] = salt * 1000003 + (uint64_t)i;
  BARRIER();
  for (int i = 0; i < words; ++i) CHECK(memory[i] == salt * 1000003 + (uint64_t)i);
}

static void attributes(void) {
  static const size_t alignments[] = {0, 64, 4096, 1 << 22};
  static const size_t blocks[] = {0, 4096, 65536, MUSUBI_BLOCK_BYTES_MAX};
  uint64_t salt = 0;
  for (int placement = MUSUBI_PLACE_CYCLIC; placement <= MUSUBI_PLACE_FIRST_TOUCH; ++placement) {
    for (int policy = MUSUBI_POLICY_MIGRATING; policy <= MUSUBI_POLICY_HOME_ONLY; ++policy) {
      if (placement == MUSUBI_PLACE_FIRST_TOUCH && policy != MUSUBI_POLICY_MIGRATING) continue;
      for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; ++i) {
        const int home = placement == MUSUBI_PLACE_AT ? ranks - 1 : 0;
        uint64_t* const memory =
            with((musubi_attributes){alignments[i], blocks[i], placement, home, policy, 0, 0}, bytes);
        CHECK((uintptr_t)memory % (alignments[i] == 0 ? 16 : alignments[i]) == 0);
        share(memory, ++salt);
        BARRIER();
        CHECK(musubi_atomic_fetch_add_64(memory, 1, NULL) == MUSUBI_OK);
        CHECK(musubi_touch(memory, bytes, 1) == MUSUBI_OK);
        CHECK(musubi_free(memory) == MUSUBI_ERROR_ADDRESS);
      }
    }
  }
}

/* Only where no rank closes any memory. */
static void by_code(void) {
  const musubi_attributes wanted = {0, 64, 0, 0, MUSUBI_POLICY_HOME, MUSUBI_CHECKED_BY_CODE, 0};
  void* memory = NULL;
  const int error = musubi_alloc_with(&wanted, bytes, &memory);
  CHECK(error == MUSUBI_OK || error == MUSUBI_ERROR_ARGUMENT);
  if (error == MUSUBI_OK) share(memory, 1);
  printf("by code: %s\n", error == MUSUBI_OK ? "granted" : "refused");
}

static void attributes_refused(void) {
  const musubi_attributes none = {0};
  void* memory = &memory;
  CHECK(musubi_alloc_with(NULL, 8, &memory) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_alloc_with(&none, 8, NULL) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_alloc_with(&none, 0, &memory) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_alloc_with(&none, SIZE_MAX, &memory) == MUSUBI_ERROR_MEMORY);
  const musubi_attributes wrong[] = {{48, 0, 0, 0, 0, 0, 0},
                                     {(size_t)1 << 31, 0, 0, 0, 0, 0, 0},
                                     {0, 5000, 0, 0, 0, 0, 0},
                                     {0, 2048, 0, 0, 0, 0, 0},
                                     {0, 2 * MUSUBI_BLOCK_BYTES_MAX, 0, 0, 0, 0, 0},
                                     {0, 0, 4, 0, 0, 0, 0},
                                     {0, 0, -1, 0, 0, 0, 0},
                                     {0, 0, MUSUBI_PLACE_AT, ranks, 0, 0, 0},
                                     {0, 0, MUSUBI_PLACE_AT, -1, 0, 0, 0},
                                     {0, 0, MUSUBI_PLACE_CYCLIC, 1, 0, 0, 0},
                                     {0, 0, 0, 0, 4, 0, 0},
                                     {0, 0, 0, 0, -1, 0, 0},
                                     {0, 0, 0, 0, MUSUBI_POLICY_HOME, 2, 0},
                                     {0, 0, 0, 0, MUSUBI_POLICY_HOME, -1, 0},
                                     {0, 32, 0, 0, MUSUBI_POLICY_HOME, MUSUBI_CHECKED_BY_CODE, 0},
                                     {0, 0, MUSUBI_PLACE_FIRST_TOUCH, 0, MUSUBI_POLICY_HOME, 0, 0},
                                     {0, 0, MUSUBI_PLACE_FIRST_TOUCH, 0, MUSUBI_POLICY_ENTRY, 0, 0},
                                     {0, 0, 0, 0, MUSUBI_POLICY_MIGRATING, 0, 8},
                                     {0, 0, 0, 0, MUSUBI_POLICY_HOME, 0, 8},
                                     {0, 0, 0, 0, MUSUBI_POLICY_ENTRY, 0, (size_t)1 << 32},
                                     {8192, 0, 0, 0, MUSUBI_POLICY_ENTRY, 0, 24}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    CHECK(musubi_alloc_with(&wrong[i], 8, &memory) == MUSUBI_ERROR_ARGUMENT);
  }
  CHECK(memory == &memory);
  CHECK(musubi_free_with(&memory) == MUSUBI_ERROR_ADDRESS && musubi_free_with(NULL) == MUSUBI_ERROR_ADDRESS);
  char* const right = (char*)with(none, bytes);
  CHECK(musubi_free_with(right + 16) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_free_with(right) == MUSUBI_OK && musubi_free_with(right) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_touch(right, 1, 0) == MUSUBI_ERROR_ADDRESS);
}

/* Memory whose home goes from rank to rank, in whole and in part; between the moves all ranks write. */
static void homes(void) {
  for (int policy = MUSUBI_POLICY_MIGRATING; policy <= MUSUBI_POLICY_HOME_ONLY; ++policy) {
    uint64_t* const memory = with((musubi_attributes){0, 4096, MUSUBI_PLACE_BLOCK, 0, policy, 0, 0}, bytes);
    if (policy == MUSUBI_POLICY_ENTRY) {
      CHECK(musubi_set_home(memory, bytes, 0) == MUSUBI_ERROR_ARGUMENT);
      continue;
    }
    CHECK(musubi_set_home(memory, bytes, ranks) == MUSUBI_ERROR_ARGUMENT);
    CHECK(musubi_set_home(memory, bytes, -1) == MUSUBI_ERROR_ARGUMENT);
    CHECK(musubi_set_home(&ranks, 1, 0) == MUSUBI_ERROR_ADDRESS);
    for (int turn = 0; turn < 2 * ranks; ++turn) {
      share(memory, (uint64_t)(turn + 1));
      CHECK(musubi_set_home(memory + 600 * turn, bytes / 2, turn % ranks) == MUSUBI_OK);
      for (int i = 0; i < words; ++i) CHECK(memory[i] == (uint64_t)(turn + 1) * 1000003 + (uint64_t)i);
      BARRIER();
      CHECK(musubi_atomic_fetch_add_64(memory, 1, NULL) == MUSUBI_OK);
      BARRIER();
      CHECK(memory[0] == (uint64_t)(turn + 1) * 1000003 + (uint64_t)ranks);
      BARRIER();
    }
  }
}

enum { sections = 40, places = 500 };
typedef struct {
  uint64_t number, square;
  char mark;
} record;

/* Bound to one lock, after a barrier to another one; writes outside of any lock wait for the barrier. */
static void entry(void) {
  const musubi_attributes attributes = {0, 4096,          MUSUBI_PLACE_BLOCK, 0, MUSUBI_POLICY_ENTRY,
                                        0, sizeof(record)};
  record* const records = (record*)with(attributes, places * sizeof(record));
  memset(records + places * rank / ranks, 0,
         (size_t)(places * (rank + 1) / ranks - places * rank / ranks) * sizeof(record));
  BARRIER();
  for (uint32_t lock = 1; lock <= 2; ++lock) {
    for (int i = 0; i < sections; ++i) {
      CHECK(musubi_lock(lock) == MUSUBI_OK);
      record* const counted = &records[places / 2 + i % 7];
      CHECK(counted->square == counted->number * counted->number);
      ++counted->number;
      counted->square = counted->number * counted->number;
      CHECK(musubi_unlock(lock) == MUSUBI_OK);
    }
    records[places - 1 - rank].number = lock;
    BARRIER();
    uint64_t sum = 0;
    for (int i = 0; i < 7; ++i) sum += records[places / 2 + i].number;
    CHECK(sum == (uint64_t)(lock * sections) * (uint64_t)ranks);
    for (int i = 0; i < ranks; ++i) CHECK(records[places - 1 - i].number == lock);
    BARRIER();
  }
  CHECK(musubi_free_with(records) == MUSUBI_OK);
  const musubi_attributes other = {0, 4096, MUSUBI_PLACE_BLOCK, 0, MUSUBI_POLICY_ENTRY, 0, 8};
  CHECK(with(other, places * sizeof(record)) != (uint64_t*)records);
  CHECK(with(attributes, places * sizeof(record)) == (uint64_t*)records);
}

static void taken_again(void) {
  const musubi_attributes cyclic = {0, 4096, MUSUBI_PLACE_CYCLIC, 0, 0, 0, 0};
  const musubi_attributes parts = {0, 4096, MUSUBI_PLACE_BLOCK, 0, 0, 0, 0};
  uint64_t* const first = with(cyclic, bytes);
  uint64_t* const second = with(parts, bytes);
  share(first, 1);
  CHECK(musubi_free_with(first) == MUSUBI_OK && musubi_free_with(second) == MUSUBI_OK);
  CHECK(with(parts, bytes / 2) != second && with(cyclic, bytes / 2) == first);
  uint64_t* const third = with(cyclic, bytes);
  CHECK(third != first && third != second && with(parts, bytes) == second);
  share(third, 2);
  share(second, 3);
}

/* Memory of any rank's heap, freed by another rank. */
static void at_a_rank(void) {
  CHECK(musubi_alloc_at(-1, 8) == NULL && musubi_alloc_at(ranks, 8) == NULL);
  CHECK(musubi_alloc_at((rank + 1) % ranks, SIZE_MAX / 2) == NULL);
  unsigned char** const all = allocate_for_all(sizeof *all * (size_t)ranks * (size_t)ranks);
  unsigned char** const own = allocate_for_all(sizeof *own * (size_t)ranks);
  own[rank] = musubi_alloc(bytes);
  for (int round = 0; round < 10; ++round) {
    for (int owner = 0; owner < ranks; ++owner) {
      unsigned char* const memory = musubi_alloc_at(owner, bytes);
      CHECK(memory != NULL);
      memset(memory, rank + round, bytes);
      all[rank * ranks + owner] = memory;
    }
    BARRIER();
    const int other = (rank + 1) % ranks;
    for (int owner = 0; owner < ranks; ++owner) {
      unsigned char* const memory = all[other * ranks + owner];
      CHECK(memory[0] == other + round && memory[bytes - 1] == other + round);
      /* Closer to the owner's own memory than to that of other ranks. */
      const ptrdiff_t distance = memory - own[owner];
      for (int r = 0; r < ranks; ++r) {
        const ptrdiff_t from_r = memory - own[r];
        CHECK((distance < 0 ? -distance : distance) <= (from_r < 0 ? -from_r : from_r));
      }
      CHECK(musubi_free(memory) == MUSUBI_OK);
    }
    BARRIER();
  }
}

static void aligned(void) {
  CHECK(musubi_alloc_aligned(0, 8) == NULL && musubi_alloc_aligned(48, 8) == NULL);
  CHECK(musubi_alloc_aligned((size_t)1 << 31, 8) == NULL);
  for (size_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
    char* const memory = musubi_alloc_aligned(alignment, 100);
    CHECK(memory != NULL && (uintptr_t)memory % alignment == 0);
    CHECK(musubi_free(memory) == MUSUBI_OK);
  }
}

/* A system call finds the pages that a hint has brought, without a fault. */
static void prefetch(void) {
  char* const memory = (char*)with((musubi_attributes){0, 4096, MUSUBI_PLACE_AT, 0, 0, 0, 0}, bytes);
  uint64_t local = 0;
  CHECK(musubi_prefetch(&local, 8, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_prefetch(memory, (size_t)1 << 40, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_prefetch(NULL, 0, 0) == MUSUBI_OK);
  if (rank == 0) memset(memory, 'x', bytes);
  BARRIER();
  int ends[2];
  CHECK(pipe(ends) == 0);
  if (rank != 0) {
    const char* const coherence = getenv("MUSUBI_COHERENCE");
    if (coherence != NULL && strcmp(coherence, "protocol") == 0)
      for (int i = 0; i < 10; ++i) CHECK(write(ends[1], memory + i * 4096, 1) == -1 && errno == EFAULT);
    CHECK(musubi_prefetch(memory + 1, 5 * 4096, 0) == MUSUBI_OK);
    for (int i = 0; i < 6; ++i) CHECK(write(ends[1], memory + i * 4096, 1) == 1);
  }
  BARRIER();
  if (rank == ranks - 1) {
    char* const heap = memory + 20 * 4096;
    CHECK(musubi_prefetch(heap, 4096, 1) == MUSUBI_OK);
    CHECK(write(ends[1], "y", 1) == 1);
    char one = 0;
    while (one != 'y') CHECK(read(ends[0], &one, 1) == 1);
    CHECK(write(ends[1], "z", 1) == 1 && read(ends[0], heap, 1) == 1 && heap[0] == 'z');
  }
  BARRIER();
  CHECK(memory[20 * 4096] == 'z' && memory[20 * 4096 + 1] == 'x');
}

/* Many ranges at once, in any order; with each policy. */
static void prefetch_all(void) {
  uint64_t local = 0;
  musubi_range ranges[300] = {{&local, 8}};
  CHECK(musubi_prefetch_all(ranges, 1, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_prefetch_all(NULL, 1, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_prefetch_all(NULL, 0, 0) == MUSUBI_OK);
  for (int policy = MUSUBI_POLICY_MIGRATING; policy <= MUSUBI_POLICY_HOME_ONLY; ++policy) {
    char* const memory =
        (char*)with((musubi_attributes){0, 4096, MUSUBI_PLACE_CYCLIC, 0, policy, 0, 0}, bytes);
    const size_t pages = bytes / 4096;
    if (rank == 0) memset(memory, 'x', bytes);
    BARRIER();
    for (size_t i = 0; i < 300; ++i)
      ranges[i] = (musubi_range){memory + (i * 7919) % pages * 4096 + i % 4096, i % 5 == 0 ? 0 : 1};
    const int writable = policy == MUSUBI_POLICY_HOME;
    CHECK(musubi_prefetch_all(ranges, 300, writable) == MUSUBI_OK);
    for (size_t i = 0; i < 300; ++i) CHECK(*(const char*)ranges[i].memory == 'x');
    BARRIER();
  }
}

/* Arrays that the ranks overwrite in turn, whole and in part, and the words next to them. */
static void checks(void) {
  uint64_t local[100] = {0};
  musubi_check_read(local, sizeof local);
  musubi_check_write(local, sizeof local);
  musubi_check_overwrite(local, sizeof local);
  musubi_check_written(local, sizeof local);
  musubi_check_read(NULL, SIZE_MAX);
  musubi_check_write(local, SIZE_MAX);
  for (int policy = MUSUBI_POLICY_MIGRATING; policy <= MUSUBI_POLICY_HOME_ONLY; ++policy) {
    uint64_t* const memory = with((musubi_attributes){0, 4096, MUSUBI_PLACE_CYCLIC, 0, policy, 0, 0}, bytes);
    const int begin = 700, end = words - 300;
    if (rank == 0) {
      for (int i = 0; i < words; ++i) memory[i] = (uint64_t)i;
    }
    BARRIER();
    for (int turn = 0; turn < 2 * ranks; ++turn) {
      if (rank == turn % ranks) {
        musubi_check_overwrite(memory + begin, 8 * (size_t)(end - begin));
        for (int i = end - 1; i >= begin; --i) memory[i] = (uint64_t)(1000000 * turn + i);
        musubi_check_written(memory + begin, 8 * (size_t)(end - begin));
      }
      BARRIER();
      musubi_check_read(memory, bytes);
      for (int i = 0; i < words; ++i)
        CHECK(memory[i] == (uint64_t)(i < begin || i >= end ? i : 1000000 * turn + i));
      BARRIER();
    }
  }
}

static void release_range(void) {
  uint64_t* const memory = with((musubi_attributes){0}, bytes);
  uint64_t local = 0;
  CHECK(musubi_release_range(&local, 8) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_release_range(memory, (size_t)1 << 40) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_release_range(NULL, 0) == MUSUBI_OK);
  for (int round = 0; round < 20; ++round) {
    for (int i = rank; i < words; i += ranks) memory[i] = (uint64_t)(round + i);
    CHECK(musubi_release_range(memory, bytes) == MUSUBI_OK);
    for (int i = rank; i < words; i += 7 * ranks) memory[i] += 1;
    BARRIER();
    for (int i = 0; i < words; ++i) {
      const int changed_again = (i - i % ranks) / ranks % 7 == 0;
      CHECK(memory[i] == (uint64_t)(round + i + changed_again));
    }
    BARRIER();
  }
}

static void different(void) {
  void* memory = NULL;
  const musubi_attributes none = {0, 0, rank == ranks - 1, 0, 0, 0, 0};
  musubi_alloc_with(&none, bytes, &memory);
}

/* Ranges whose end is before their beginning, which is shared memory, too. */
static void wrapped_ranges(void) {
  char* const memory = musubi_alloc(4096);
  CHECK(memory != NULL);
  const size_t wrapped[] = {SIZE_MAX, (size_t)-64, SIZE_MAX / 2};
  for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; ++i) {
    CHECK(musubi_touch(memory + 2048, wrapped[i], 0) == MUSUBI_ERROR_ADDRESS);
    CHECK(musubi_prefetch(memory + 2048, wrapped[i], 0) == MUSUBI_ERROR_ADDRESS);
    CHECK(musubi_release_range(memory + 2048, wrapped[i]) == MUSUBI_ERROR_ADDRESS);
  }
  CHECK(musubi_free(memory) == MUSUBI_OK);
}

/* Otherwise the ranks would choose different memory at the next allocation. */
static void different_freed(void) {
  const musubi_attributes cyclic = {0, 4096, MUSUBI_PLACE_CYCLIC, 0, 0, 0, 0};
  void* const first = with(cyclic, bytes);
  void* const second = with(cyclic, bytes);
  CHECK(musubi_free_with(rank == 0 ? first : second) == MUSUBI_OK);
}

int main(int argc, char** argv) {
  void* memory = NULL;
  const musubi_attributes none = {0};
  if (musubi_alloc_with(&none, 8, &memory) != MUSUBI_ERROR_STATE ||
      musubi_free_with(memory) != MUSUBI_ERROR_STATE || musubi_alloc_at(0, 8) != NULL ||
      musubi_alloc_aligned(16, 8) != NULL || musubi_prefetch(&memory, 1, 0) != MUSUBI_ERROR_STATE ||
      musubi_release_range(&memory, 1) != MUSUBI_ERROR_STATE) {
    return 98;
  }
  static const struct test_case cases[] = {{"attributes", attributes},
                                           {"attributes_refused", attributes_refused},
                                           {"by_code", by_code},
                                           {"taken_again", taken_again},
                                           {"at_a_rank", at_a_rank},
                                           {"aligned", aligned},
                                           {"prefetch", prefetch},
                                           {"homes", homes},
                                           {"prefetch_all", prefetch_all},
                                           {"checks", checks},
                                           {"release_range", release_range},
                                           {"wrapped_ranges", wrapped_ranges},
                                           {"entry", entry},
                                           {"mismatch_attributes", different},
                                           {"mismatch_freed", different_freed}};
  if (!run_case(join_job(argc, argv), cases, sizeof cases / sizeof cases[0])) return 96;
  return musubi_finalize(0);
}
