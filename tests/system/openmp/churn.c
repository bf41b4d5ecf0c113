// Barriers, locks, single, dynamic loops and heap traffic for `churn <rounds>`, with the rounds printed; says
// so when all sums agree.
#include "check.h"

enum { slots = 64 };

static char* blocks[slots];
static int sizes[slots];
static long under_lock = 0, counted = 0;

static void replace_block(int slot, int size, int thread) {
  for (int i = 0; i < sizes[slot]; ++i) CHECK(blocks[slot][i] == (char)(slot + sizes[slot]));
  free(blocks[slot]);
  blocks[slot] = malloc((size_t)size);
  sizes[slot] = size;
  memset(blocks[slot], (char)(slot + size), (size_t)size);
  (void)thread;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  omp_lock_t lock;
  omp_init_lock(&lock);
  int threads = 0;
#pragma omp parallel
  {
#pragma omp single
    {
      threads = omp_get_num_threads();
      puts("running");
      fflush(stdout);
    }
    for (int round = 0; round < rounds; ++round) {
#pragma omp master
      if (argc > 1) {
        printf("round %d\n", round);
        fflush(stdout);
      }
#pragma omp for schedule(dynamic, 4)
      for (int slot = 0; slot < slots; ++slot)
        replace_block(slot, 100 + (slot * 37 + round * 101) % 3000, omp_get_thread_num());
      omp_set_lock(&lock);
      ++under_lock;
      omp_unset_lock(&lock);
#pragma omp atomic
      ++counted;
#pragma omp barrier
    }
  }
  omp_destroy_lock(&lock);
  CHECK(under_lock == (long)rounds * threads);
  CHECK(counted == (long)rounds * threads);
  for (int slot = 0; slot < slots; ++slot) free(blocks[slot]);
  puts("verified");
  return 0;
}
