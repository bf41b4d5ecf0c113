// Sorting by keys of one byte: threads count their parts, then put records of one, three and eight bytes at
// places of their own, which lie between those of other threads.
#include "textbook.h"

enum { count = 40003, keys = 128, threads_max = 64 };

typedef struct {
  unsigned char key, first, second;
} Record;
typedef struct {
  int key, value;
} Pair;
// After a number: the pairs begin at no multiple of 8.
typedef struct {
  int count;
  Pair pairs[count];
} Sorted;

static Record records[count], sorted[count], expected[count];
static unsigned char sorted_keys[count], expected_keys[count];
static Sorted sorted_pairs;
static Pair pairs[count];
static int places[threads_max][keys];

static void sort(void) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), all = omp_get_num_threads();
    const int first = (int)((long)count * me / all), end = (int)((long)count * (me + 1) / all);
    memset(places[me], 0, sizeof places[me]);
    for (int i = first; i < end; ++i) ++places[me][records[i].key];
#pragma omp barrier
#pragma omp single
    for (int key = 0, place = 0; key < keys; ++key) {
      for (int t = 0; t < all; ++t) {
        const int here = places[t][key];
        places[t][key] = place;
        place += here;
      }
    }
    int mine[keys];
    memcpy(mine, places[me], sizeof mine);
    for (int i = first; i < end; ++i) {
      const int place = mine[records[i].key]++;
      sorted[place] = records[i];
      sorted_keys[place] = records[i].key;
    }
  }
}

// Only pairs are stored here.
static void sort_pairs(Pair* to, const int* place_of) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i) to[place_of[i]] = pairs[i];
}

int main(void) {
  static int place_of[count];
  long wrong = 0;
  int next[keys] = {0};
  for (int i = 0; i < count; ++i) {
    records[i].key = (unsigned char)next_random(keys);
    records[i].first = (unsigned char)next_random(256);
    records[i].second = (unsigned char)i;
    pairs[i] = (Pair){records[i].key, i};
  }
  for (int i = 0; i < count; ++i) {
    for (int key = records[i].key + 1; key < keys; ++key) ++next[key];
  }
  for (int i = 0; i < count; ++i) {
    place_of[i] = next[records[i].key]++;
    expected[place_of[i]] = records[i];
    expected_keys[place_of[i]] = records[i].key;
  }
  sort();
  sorted_pairs.count = count;
  sort_pairs(sorted_pairs.pairs, place_of);
  wrong += count_differences(sorted, expected, sizeof sorted);
  wrong += count_differences(sorted_keys, expected_keys, sizeof sorted_keys);
  for (int i = 0; i < count; ++i) {
    const Pair* const pair = &sorted_pairs.pairs[place_of[i]];
    wrong += pair->key != records[i].key || pair->value != i;
  }
  return finish(wrong + (sorted_pairs.count != count));
}
