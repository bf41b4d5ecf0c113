/* A hash table in global pages, in one part for each rank. In turn, each rank counts keys in each part, as
 * the stages of a pipeline do: the rank that works on a part changes, and only that rank works on it for a
 * while.
 *
 *   musubi run -n 4 hash_table [keys counted in a turn]
 *
 * Counts the same keys in the three ways of lines.h and verifies the table each time.
 */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

#include "lines.h"

enum { buckets = 8192, slots = 4, distinct_keys = 16384, page_bytes = 65536 };

/* A bucket is a line of four keys, each with its count; key 0: an empty place. */

static int rank, ranks;

static size_t bucket_of(uint64_t key) {
  uint64_t state = key;
  return lines_random(&state) % buckets;
}

static void count_key(struct lines* lines, uint64_t key) {
  for (size_t bucket = bucket_of(key);; bucket = (bucket + 1) % buckets) {
    struct line line = lines_read(lines, bucket);
    for (int i = 0; i < slots; ++i) {
      if (line.words[2 * i] != 0 && line.words[2 * i] != key) continue;
      line.words[2 * i] = key;
      ++line.words[2 * i + 1];
      lines_write(lines, bucket, &line);
      return;
    }
  }
}

/* Rank `counter` counts the same keys in a turn of each run. */
static uint64_t next_key(uint64_t* state) {
  return lines_random(state) % distinct_keys + 1;
}

static uint64_t seed_of(int counter, int part) {
  return (uint64_t)(counter * 1000 + part);
}

static int verify(struct lines* lines, gas_address part, int number, long keys) {
  uint64_t* const expected = calloc(distinct_keys + 1, sizeof *expected);
  if (expected == NULL) musubi_abort(1, "no memory to verify the table");
  for (int counter = 0; counter < ranks; ++counter) {
    uint64_t state = seed_of(counter, number);
    for (long i = 0; i < keys; ++i) ++expected[next_key(&state)];
  }
  lines_begin(lines, part, buckets, number);
  uint64_t wrong = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const struct line line = lines_read(lines, bucket);
    for (int i = 0; i < slots; ++i) {
      if (line.words[2 * i] != 0) expected[line.words[2 * i]] -= line.words[2 * i + 1];
    }
  }
  for (size_t key = 1; key <= distinct_keys; ++key) wrong += expected[key] != 0;
  free(expected);
  return wrong == 0;
}

/* Result: whether the table is right. */
static int count_all(enum way way, long keys) {
  const size_t part_bytes = buckets * sizeof(struct line);
  const gas_address table = gas_alloc((size_t)ranks * part_bytes, page_bytes, GAS_BLOCK);
  if (table == 0) lines_require(-1);
  struct lines* const lines = lines_make(way, page_bytes);
  musubi_barrier();
  const double start = lines_seconds();
  for (int turn = 0; turn < ranks; ++turn) {
    const int number = (rank + turn) % ranks;
    lines_begin(lines, table + (size_t)number * part_bytes, buckets, number);
    uint64_t state = seed_of(rank, number);
    for (long i = 0; i < keys; ++i) count_key(lines, next_key(&state));
    musubi_barrier();
  }
  const double seconds = lines_seconds() - start;

  uint64_t remote = lines_remote(lines);
  musubi_allreduce(&remote, 1, MUSUBI_UINT64, MUSUBI_SUM);
  int right = verify(lines, table + (size_t)rank * part_bytes, rank, keys);
  musubi_allreduce(&right, 1, MUSUBI_INT32, MUSUBI_MIN);
  if (rank == 0) {
    printf("table_%s_time %.6f s\n", way_names[way], seconds);
    printf("table_%s_remote %.6f operations for each key\n", way_names[way],
           (double)remote / ((double)keys * ranks * ranks));
  }
  lines_free(lines);
  lines_require(gas_free(table));
  return right;
}

int main(int argc, char** argv) {
  const long keys = argc > 1 ? atol(argv[1]) : 100000;
  if (keys <= 0) {
    fprintf(stderr, "usage: hash_table [keys counted in a turn]\n");
    return EXIT_FAILURE;
  }
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  rank = musubi_rank();
  ranks = musubi_size();
  int right = 1;
  for (int way = 0; way < WAYS; ++way) right &= count_all((enum way)way, keys);
  if (rank == 0) puts(right ? "VERIFICATION SUCCESSFUL" : "VERIFICATION FAILED");
  musubi_finalize(right ? EXIT_SUCCESS : EXIT_FAILURE);
  return EXIT_SUCCESS;
}
