// Histograms of bytes: bins of each thread, merged one after the other; adjacent bins of different threads;
// bins that belong to threads; and bytes that only mark which values occur.
#include "textbook.h"

enum { values = 200001, bins = 256, threads_max = 64 };

static unsigned char data[values], occurs[bins], expected_occurs[bins];
static long merged[bins], by_owner[bins], expected[bins];
static unsigned char beside[threads_max][97];

static void merge_private_bins(void) {
#pragma omp parallel
  {
    long mine[bins] = {0};
#pragma omp for
    for (int i = 0; i < values; ++i) ++mine[data[i]];
#pragma omp critical
    for (int b = 0; b < bins; ++b) merged[b] += mine[b];
  }
}

// Bins of one byte: of values modulo 97, modulo 256. Rows of threads touch in one word.
static void count_side_by_side(void) {
  memset(beside, 0, sizeof beside);
#pragma omp parallel
  {
    unsigned char* const mine = beside[omp_get_thread_num() % threads_max];
#pragma omp for schedule(static, 1)
    for (int i = 0; i < values; ++i) ++mine[data[i] % 97];
  }
}

static void count_own_bins(void) {
#pragma omp parallel for schedule(static, 1)
  for (int b = 0; b < bins; ++b) {
    for (int i = 0; i < values; i += 50) by_owner[b] += data[i] == b;
  }
}

static void note_values(void) {
#pragma omp parallel for
  for (int i = 0; i < values; ++i) occurs[data[i]] = 1;
}

int main(void) {
  long wrong = 0, expected_by_owner[bins] = {0};
  unsigned char expected_beside[97] = {0};
  for (int i = 0; i < values; ++i) {
    data[i] = (unsigned char)((next_random(120) + next_random(120)) & ~1u);
    ++expected[data[i]];
    ++expected_beside[data[i] % 97];
    expected_by_owner[data[i]] += i % 50 == 0;
    expected_occurs[data[i]] = 1;
  }
  merge_private_bins();
  count_side_by_side();
  count_own_bins();
  note_values();
  for (int b = 0; b < bins; ++b) wrong += merged[b] != expected[b] || by_owner[b] != expected_by_owner[b];
  for (int b = 0; b < 97; ++b) {
    unsigned char sum = 0;
    for (int t = 0; t < threads_max; ++t) sum = (unsigned char)(sum + beside[t][b]);
    wrong += sum != expected_beside[b];
  }
  wrong += count_differences(occurs, expected_occurs, bins);
  return finish(wrong);
}
