// Compaction by marks: bools tell which letters stay, prefix sums give their new places. Chunks of threads
// end inside of words, of the marks and of the output.
#include "textbook.h"

enum { count = 70001, threads_max = 64, rounds = 4 };

static char input[count], output[count], expected[count];
static bool keeps[count], begins[count];
static int places[count], sums[threads_max + 1];

static bool keep(char letter) {
  return letter % 3 != 0;
}

static int compact(void) {
  int total = 0;
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), all = omp_get_num_threads();
    const int first = (int)((long)count * me / all), end = (int)((long)count * (me + 1) / all);
    int sum = 0;
    for (int i = first; i < end; ++i) {
      keeps[i] = keep(input[i]);
      places[i] = sum;
      sum += keeps[i];
    }
    sums[me + 1] = sum;
#pragma omp barrier
#pragma omp single
    {
      for (int t = 0; t < all; ++t) sums[t + 1] += sums[t];
      total = sums[all];
    }
    for (int i = first; i < end; ++i) {
      if (keeps[i]) output[sums[me] + places[i]] = input[i];
    }
  }
  return total;
}

int main(void) {
  long wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      input[i] = (char)(1 + next_random(100));
      if (keep(input[i])) expected[kept++] = input[i];
    }
    memset(output, 0, sizeof output);
    memset(sums, 0, sizeof sums);
    const int found = compact();
    wrong += found != kept;
    wrong += count_differences(output, expected, (size_t)kept);
    for (int i = 0; i < count; ++i) wrong += keeps[i] != keep(input[i]);
    for (int i = kept; i < count; ++i) wrong += output[i] != 0;
      // Marks where equal letters begin.
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; ++i) begins[i] = i == 0 || input[i] != input[i - 1];
    for (int i = 0; i < count; ++i) wrong += begins[i] != (i == 0 || input[i] != input[i - 1]);
  }
  return finish(wrong);
}
