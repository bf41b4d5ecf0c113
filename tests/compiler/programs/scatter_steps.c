#include <string.h>

#include "scatter.h"

static long begin_of(const struct sorting* sorting, int rank) {
  return sorting->keys * rank / sorting->ranks;
}
static unsigned bucket_of(uint32_t key, int digit) {
  return key >> (digit * BITS) & (BUCKETS - 1);
}

/* Some keys are the word that memory without stores is full of. */
void fill(struct sorting* sorting) {
  const long end = begin_of(sorting, sorting->rank + 1);
  for (long i = begin_of(sorting, sorting->rank); i < end; ++i)
    sorting->from[i] = i % 7 == 0 ? 0xfff5fff5u : (uint32_t)(i * 2654435761u);
}

void count(struct sorting* sorting, int digit) {
  long* own = sorting->counts[sorting->rank];
  const long end = begin_of(sorting, sorting->rank + 1);
  memset(own, 0, sizeof sorting->counts[0]);
  for (long i = begin_of(sorting, sorting->rank); i < end; ++i) ++own[bucket_of(sorting->from[i], digit)];
}

/* After the keys of smaller buckets, and those of lower ranks in the same bucket. */
void scatter(struct sorting* sorting, int digit) {
  long place[BUCKETS], before = 0;
  for (int bucket = 0; bucket < BUCKETS; ++bucket) {
    for (int rank = 0; rank < sorting->ranks; ++rank) {
      if (rank == sorting->rank) place[bucket] = before;
      before += sorting->counts[rank][bucket];
    }
  }
  const long end = begin_of(sorting, sorting->rank + 1);
  for (long i = begin_of(sorting, sorting->rank); i < end; ++i)
    sorting->to[place[bucket_of(sorting->from[i], digit)]++] = sorting->from[i];
}

void take_over(struct sorting* sorting) {
  const long end = begin_of(sorting, sorting->rank + 1);
  for (long i = begin_of(sorting, sorting->rank); i < end; ++i) sorting->from[i] = sorting->to[i];
}

long check(const struct sorting* sorting, int (*are_right)(const uint32_t* pair)) {
  long wrong = 0;
  for (long i = 0; i + 1 < sorting->keys; ++i) wrong += !are_right(sorting->from + i);
  return wrong;
}

int ascending(const uint32_t* pair) {
  return pair[0] <= pair[1];
}
