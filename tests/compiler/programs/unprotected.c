/* Memory without protection, compiled by musubi-cc --musubi=udsm --musubi-granule=64: a stencil whose slices
 * meet inside of blocks, scattered additions under locks, and records that straddle blocks. The argument is
 * the number of bytes of a block; a second one lets pages protect the memory. Rank 0 prints the sums. */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

enum { cells = 6001, turns = 8, counters = 37, records = 301 };

struct Record {
  int key;
  char name[13];
  double value;
  short parts[7];
};

static int checks = MUSUBI_CHECKED_BY_CODE;

static void* shared(size_t bytes, size_t block) {
  musubi_attributes attributes = {0};
  attributes.policy = MUSUBI_POLICY_HOME;
  attributes.checks = checks;
  attributes.block_bytes = block;
  void* memory = NULL;
  if (musubi_alloc_with(&attributes, bytes, &memory) != MUSUBI_OK) exit(1);
  return memory;
}

static double relax(double* from, double* to) {
  const int self = musubi_rank(), ranks = musubi_size();
  const int first = 1 + (cells - 2) * self / ranks, end = 1 + (cells - 2) * (self + 1) / ranks;
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = first; i < end; ++i) to[i] = (from[i - 1] + from[i + 1]) * 0.5 + i % 5;
    musubi_barrier();
    double* other = from;
    from = to;
    to = other;
  }
  double sum = 0;
  for (int i = 0; i < cells; ++i) sum += from[i] * (i % 11);
  return sum;
}

static long count(long* counter) {
  for (int i = 0; i < 300; ++i) {
    const int which = (i * 7 + musubi_rank() * 3) % counters;
    musubi_lock(which);
    counter[which] += i;
    musubi_unlock(which);
  }
  musubi_barrier();
  long sum = 0;
  for (int i = 0; i < counters; ++i) sum += counter[i] * (i + 1);
  return sum;
}

static double fill(struct Record* record) {
  for (int i = musubi_rank(); i < records; i += musubi_size()) {
    struct Record one = {i, "name", i * 0.25, {0}};
    for (int k = 0; k < 7; ++k) one.parts[k] = (short)(i + k);
    record[i] = one;
    record[i].name[i % 13] = (char)('a' + i % 26);
  }
  musubi_barrier();
  double sum = 0;
  for (int i = 0; i < records; ++i)
    sum += record[i].key * record[i].value + record[i].name[i % 13] + record[i].parts[i % 7];
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 2 || musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  if (argc > 2) checks = MUSUBI_CHECKED_BY_PAGES;
  size_t block = 0; /* functions of the library have no checks */
  for (const char* digit = argv[1]; *digit != 0; ++digit) block = block * 10 + (size_t)(*digit - '0');
  double *from = shared(cells * sizeof *from, block), *to = shared(cells * sizeof *to, block);
  long* counter = shared(counters * sizeof *counter, block);
  struct Record* record = shared(records * sizeof *record, block);
  if (musubi_rank() == 0) {
    for (int i = 0; i < cells; ++i) from[i] = to[i] = i % 17;
    for (int i = 0; i < counters; ++i) counter[i] = 0;
  }
  musubi_barrier();
  const double relaxed = relax(from, to), filled = fill(record);
  const long counted = count(counter);
  musubi_barrier();
  if (musubi_rank() == 0) printf("%.6f %ld %.6f\n", relaxed, counted, filled);
  return musubi_finalize(0);
}
