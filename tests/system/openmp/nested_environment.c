// OMP_NUM_THREADS as a list, and OMP_THREAD_LIMIT: the sizes of regions by nesting level.
#include "check.h"

enum { levels_max = 4 };

static int sizes[levels_max], levels, limit = 1 << 20;

static int read_list(const char* text, int* numbers) {
  int count = 0;
  for (char* end; text != NULL && *text != 0 && count < levels_max; text = *end == ',' ? end + 1 : end)
    numbers[count++] = (int)strtol(text, &end, 10);
  return count;
}

// The innermost level repeats.
static int size_at(int level) {
  return sizes[level < levels ? level : levels - 1];
}

static int live, most;

static int open_level(int level) {
  int below = 0;
  CHECK(omp_get_max_threads() == size_at(level));
#pragma omp parallel reduction(+ : below)
  {
    CHECK(omp_get_num_threads() <= size_at(level));
    if (limit >= 1 << 20) CHECK(omp_get_num_threads() == size_at(level));
    if (omp_get_thread_num() != 0) {
      int now;
#pragma omp atomic capture
      now = ++live;
#pragma omp critical
      most = now > most ? now : most;
    }
    below += level + 1 < levels ? open_level(level + 1) : 1;
    if (omp_get_thread_num() != 0)
#pragma omp atomic
      --live;
  }
  return below;
}

int main(void) {
  levels = read_list(getenv("OMP_NUM_THREADS"), sizes);
  CHECK(levels > 1 && omp_get_max_active_levels() > levels);
  if (getenv("OMP_THREAD_LIMIT") != NULL) {
    limit = atoi(getenv("OMP_THREAD_LIMIT"));
    CHECK(omp_get_thread_limit() == limit);
  }
  int all = 1;
  for (int i = 0; i < levels; ++i) all *= sizes[i];
  for (int round = 0; round < 5; ++round) {
    live = 1;
    const int found = open_level(0);
    CHECK(limit >= 1 << 20 ? found == all : found <= all);
    CHECK(live == 1 && most <= limit);
  }
  puts("nested environment: right");
  return 0;
}
