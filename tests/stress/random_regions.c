// random_regions <seed> <regions>: random parallel regions without data races. Each draws the number of
// threads, the place of its words (stack, heap, static data), their distance, and the threads' operations on
// them; it knows the right results. Prints a line when all were right.
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  arena_words = 8192,
  threads_max = 16,
  counters_max = 4,
  cells_max = 64,
  steps_max = 90,
  loop_count = 300
};

typedef struct {
  uint64_t state;
} Random;

static unsigned below(Random* random, unsigned limit) {  // SplitMix64
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ z >> 31) % limit);
}

// The operations of one thread on the counters, and the impossible values that it saw.
typedef struct {
  long by_lock[counters_max], by_atomic[counters_max], wrong;
  char apart[64];
} Deeds;

typedef struct {
  uint64_t seed;
  const char* place;
  int threads, steps, counters, cells;
  int busy;           // writes to a thread's own word in each step
  int barrier_every;  // steps; 0: none
  bool loops, tasks, mailbox;
  omp_lock_t locks[counters_max];
  volatile long* by_lock[counters_max];
  long* by_atomic[counters_max];
  volatile long* own[threads_max];     // the words of each thread
  volatile long* cells_of[cells_max];  // cells of the thread whose turn it is; all read them after a barrier
  unsigned char* visits;               // visits of the iterations of a loop
  unsigned char* volatile letter;      // under lock 0: memory that the thread that finds it checks and frees
  long task_sum;
  Deeds deeds[threads_max];
} Region;

static void put_words(Region* region, long* arena, Random* random) {
  static const int distances[] = {1, 1, 2, 8, 64, 256};
  int at = (int)below(random, 512);
  const int apart = distances[below(random, 6)], cells_apart = distances[below(random, 5)];
  for (int i = 0; i < region->counters; ++i) {
    region->by_lock[i] = arena + at;
    region->by_atomic[i] = arena + at + apart;
    at += 2 * apart;
    omp_init_lock(&region->locks[i]);
  }
  const int own_apart = distances[below(random, 5)];
  for (int i = 0; i < region->threads; ++i, at += own_apart) region->own[i] = arena + at;
  for (int i = 0; i < region->cells; ++i, at += cells_apart) region->cells_of[i] = arena + at;
  region->visits = (unsigned char*)(arena + at);
  memset(arena, 0, arena_words * sizeof *arena);
}

static void draw(Region* region, uint64_t seed, long* arena) {
  Random random = {seed};
  memset(region, 0, sizeof *region);
  region->seed = seed;
  region->threads = 2 + (int)below(&random, threads_max - 1);
  region->steps = 5 + (int)below(&random, steps_max - 5);
  region->counters = 1 + (int)below(&random, counters_max);
  region->cells = (int)below(&random, cells_max);
  region->busy = below(&random, 3) == 0 ? 0 : (int)below(&random, 64);
  region->barrier_every = below(&random, 3) != 0 ? 0 : 1 + (int)below(&random, 8);
  region->loops = below(&random, 2) == 0;
  region->tasks = below(&random, 4) == 0;
  region->mailbox = below(&random, 3) == 0;
  put_words(region, arena, &random);
}

static void post_or_fetch(Region* region, Random* random, Deeds* deeds) {
  enum { bytes_max = 9000 };
  const unsigned bytes = 8 + below(random, bytes_max);
  unsigned char* mine = malloc(bytes);
  memcpy(mine, &bytes, sizeof bytes);
  memset(mine + sizeof bytes, (int)(bytes % 251), bytes - sizeof bytes);
  omp_set_lock(&region->locks[0]);
  unsigned char* found = region->letter;
  region->letter = mine;
  omp_unset_lock(&region->locks[0]);
  if (found == NULL) return;
  unsigned length;
  memcpy(&length, found, sizeof length);
  for (unsigned i = sizeof length; i < length; ++i) deeds->wrong += found[i] != length % 251;
  free(found);
}

static void count(Region* region, Random* random, Deeds* deeds) {
  const int i = (int)below(random, (unsigned)region->counters);
  volatile long* counter = region->by_lock[i];
  long* atomic = region->by_atomic[i];
  long seen;
  switch (below(random, 7)) {
    case 0:
    case 1:
      omp_set_lock(&region->locks[i]);
      ++*counter;
      omp_unset_lock(&region->locks[i]);
      ++deeds->by_lock[i];
      break;
    case 2:
      if (!omp_test_lock(&region->locks[i])) break;
      *counter += 3;
      omp_unset_lock(&region->locks[i]);
      deeds->by_lock[i] += 3;
      break;
    case 3:
      omp_set_lock(&region->locks[i]);
      seen = *counter;
      omp_unset_lock(&region->locks[i]);
      deeds->wrong += seen < deeds->by_lock[i];
      break;
    case 4:
#pragma omp atomic
      ++*atomic;
      ++deeds->by_atomic[i];
      break;
    case 5:
#pragma omp atomic capture
      seen = *atomic += 2;
      deeds->by_atomic[i] += 2;
      deeds->wrong += seen < deeds->by_atomic[i];
      break;
    default:
      if (region->mailbox) post_or_fetch(region, random, deeds);
  }
}

static long content(int cell, int turn) {
  return cell * 1000003L + turn;
}

// Every cell is written by one thread, in each turn by another; all threads read it after the barrier.
static void take_turn(Region* region, Random* random, int me, int turn, Deeds* deeds) {
  for (int i = 0; i < region->cells; ++i) {
    if ((i + turn) % region->threads == me) *region->cells_of[i] = content(i, turn);
  }
#pragma omp barrier
  for (int k = 0; k < region->cells; k += 3) {
    const int i = (int)below(random, (unsigned)region->cells);
    deeds->wrong += *region->cells_of[i] != content(i, turn);
  }
#pragma omp barrier
}

static void work(Region* region, int me, Deeds* deeds) {
  Random random = {region->seed * threads_max + (uint64_t)me};
  volatile long* own = region->own[me];
  for (int step = 0; step < region->steps; ++step) {
    const long before = region->busy != 0 ? (region->busy - 1) % 2 : step - 1;
    deeds->wrong += step != 0 && *own != before;
    for (int i = 0; i < region->busy; ++i) *own = i % 2;
    if (region->busy == 0) *own = step;
    count(region, &random, deeds);
    if (region->barrier_every != 0 && step % region->barrier_every == 0)
      take_turn(region, &random, me, step, deeds);
  }
}

static void work_together(Region* region) {
  if (region->loops) {
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < loop_count; ++i) ++region->visits[i];
#pragma omp for schedule(guided)
    for (int i = 0; i < loop_count; ++i) ++region->visits[i];
  }
  if (region->tasks) {
#pragma omp single
    for (int i = 0; i < 20; ++i)
#pragma omp task firstprivate(i)
    {
#pragma omp atomic
      region->task_sum += i;
    }
  }
}

static int complain(const Region* region, const char* what, int which, long found, long expected) {
  if (found == expected) return 0;
  printf("region %lu (%s, %d threads): %s %d: %ld instead of %ld\n", (unsigned long)region->seed,
         region->place, region->threads, what, which, found, expected);
  return 1;
}

static int check(Region* region) {
  int failures = 0;
  for (int i = 0; i < region->counters; ++i) {
    long by_lock = 0, by_atomic = 0;
    for (int t = 0; t < region->threads; ++t) {
      by_lock += region->deeds[t].by_lock[i];
      by_atomic += region->deeds[t].by_atomic[i];
    }
    failures += complain(region, "counter under lock", i, *region->by_lock[i], by_lock);
    failures += complain(region, "atomic counter", i, *region->by_atomic[i], by_atomic);
    omp_destroy_lock(&region->locks[i]);
  }
  for (int t = 0; t < region->threads; ++t)
    failures += complain(region, "surprises of thread", t, region->deeds[t].wrong, 0);
  for (int i = 0; i < loop_count; ++i)
    failures += complain(region, "visits of iteration", i, region->visits[i], region->loops ? 2 : 0);
  failures += complain(region, "sum of", 20, region->task_sum, region->tasks ? 190 : 0);
  free(region->letter);
  return failures;
}

static long in_static_data[arena_words];

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: random_regions <seed> <regions>\n", stderr);
    return 2;
  }
  long on_stack[arena_words];
  long* in_heap = malloc(sizeof on_stack);
  long* const arenas[] = {on_stack, in_heap, in_static_data};
  static const char* const places[] = {"stack", "heap", "static data"};
  const uint64_t first = strtoull(argv[1], NULL, 10), regions = strtoull(argv[2], NULL, 10);
  Region* region = malloc(sizeof *region);
  int failures = 0;
  for (uint64_t seed = first; seed < first + regions; ++seed) {
    draw(region, seed, arenas[seed % 3]);
    region->place = places[seed % 3];
#pragma omp parallel num_threads(region->threads)
    {
      const int me = omp_get_thread_num();
      if (omp_get_num_threads() != region->threads) abort();
      Deeds deeds = {{0}, {0}, 0, {0}};
      work(region, me, &deeds);
      work_together(region);
      region->deeds[me] = deeds;
    }
    failures += check(region);
  }
  free(region);
  free(in_heap);
  if (failures == 0) puts("verified");
  return failures != 0;
}
