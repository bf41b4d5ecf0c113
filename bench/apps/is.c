// IS, the integer sort kernel of the NAS Parallel Benchmarks, written from its specification (Bailey et al.,
// "The NAS Parallel Benchmarks", RNR-94-007, section 2.6): ranks of keys that are nearly normally
// distributed, ten times, with two keys changed before each ranking. The ranks of five keys are compared with
// the published ones each time, and at the end the ranks must sort the keys. Usage: is [S|W|A|B]. The exit
// status is 0 only when all ranks are right.

#include "nas.h"

#define CLASSES "SWAB"
#define ITERATIONS 10
#define TEST_KEYS 5
#define BUCKETS_LOG2 9
#define BUCKETS (1 << BUCKETS_LOG2)

// The published rank of test key i grows or shrinks by one with each iteration, counted from `origin`.
struct problem {
  int keys_log2, limit_log2;
  int64_t test_index[TEST_KEYS], test_rank[TEST_KEYS];
  int growing[TEST_KEYS], origin[TEST_KEYS];
};

static const struct problem problems[] = {
    {16,
     11,
     {48427, 17148, 23627, 62548, 4431},
     {0, 18, 346, 64917, 65463},
     {1, 1, 1, 0, 0},
     {0, 0, 0, 0, 0}},
    {20,
     16,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, 0, 0, 0},
     {2, 2, 0, 0, 0}},
    {23,
     19,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, 0, 0},
     {1, 1, 1, 1, 1}},
    {25,
     21,
     {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99},
     {0, 1, 1, 0, 1},
     {0, 0, 0, 0, 0}},
};

static const struct problem* problem;
static int64_t key_count, key_limit;
static int32_t* keys;
static int32_t* bucketed;      // each thread's keys, ordered by bucket
static int32_t* histograms;    // for each thread, its number of keys of each value
static int32_t* smaller_keys;  // for each key, how many keys are smaller: its rank
static int64_t* slice_totals;  // for each thread, the number of keys in its slice of the key range
static int tests_passed;

// The sum of four numbers, scaled to the key range. All factors are powers of two, so integers compute it
// exactly.
static void create_keys(void) {
#pragma omp parallel
  {
    int64_t first, end;
    nas_slice(key_count, &first, &end);
    uint64_t state = nas_multiply(NAS_SEED, nas_power(NAS_MULTIPLIER, 4 * (uint64_t)first));
    for (int64_t i = first; i < end; i++) {
      uint64_t sum = 0;
      for (int number = 0; number < 4; number++) {
        state = nas_multiply(state, NAS_MULTIPLIER);
        sum += state;
      }
      keys[i] = (int32_t)(sum >> (48 - problem->limit_log2));
    }
  }
}

// Counts the keys [first, end). They are first ordered by bucket, small enough that a bucket's counters stay
// in the processor's first-level cache; no other thread reads or writes this data.
static void count_keys(int64_t first, int64_t end, int32_t* histogram) {
  const int shift = problem->limit_log2 - BUCKETS_LOG2;
  int64_t place[BUCKETS] = {0};
  for (int64_t i = first; i < end; i++) place[keys[i] >> shift]++;
  int64_t next = first;
  for (int bucket = 0; bucket < BUCKETS; bucket++) {
    const int64_t count = place[bucket];
    place[bucket] = next;
    next += count;
  }
  for (int64_t i = first; i < end; i++) bucketed[place[keys[i] >> shift]++] = keys[i];
  memset(histogram, 0, (size_t)key_limit * sizeof *histogram);
  for (int64_t i = first; i < end; i++) histogram[bucketed[i]]++;
}

// Sums all threads' counters over the thread's slice of the key range, and replaces each sum by the sum
// before it.
static void rank_slice(int64_t first, int64_t end) {
  const int threads = omp_get_num_threads();
  const int thread = omp_get_thread_num();
  memcpy(smaller_keys + first, histograms + first, (size_t)(end - first) * sizeof *smaller_keys);
  for (int other = 1; other < threads; other++) {
    const int32_t* histogram = histograms + other * key_limit;
#pragma omp simd
    for (int64_t key = first; key < end; key++) smaller_keys[key] += histogram[key];
  }
  int64_t total = 0;
  for (int64_t key = first; key < end; key++) total += smaller_keys[key];
  slice_totals[thread] = total;
#pragma omp barrier
  int32_t before = 0;
  for (int other = 0; other < thread; other++) before += (int32_t)slice_totals[other];
  for (int64_t key = first; key < end; key++) {
    const int32_t count = smaller_keys[key];
    smaller_keys[key] = before;
    before += count;
  }
}

static void test_ranks(int iteration, const int32_t* test_keys) {
  for (int i = 0; i < TEST_KEYS; i++) {
    const int64_t change = iteration - problem->origin[i];
    const int64_t expected = problem->test_rank[i] + (problem->growing[i] ? change : -change);
    if (smaller_keys[test_keys[i]] == expected) {
      tests_passed++;
    } else {
      printf("iteration %d: key %d has rank %d, expected %lld\n", iteration, test_keys[i],
             smaller_keys[test_keys[i]], (long long)expected);
    }
  }
}

// A ranking, by the whole team.
static void rank_keys(int iteration) {
  int32_t test_keys[TEST_KEYS];
#pragma omp master
  {
    keys[iteration] = iteration;
    keys[iteration + ITERATIONS] = (int32_t)(key_limit - iteration);
    for (int i = 0; i < TEST_KEYS; i++) test_keys[i] = keys[problem->test_index[i]];
  }
#pragma omp barrier
  int64_t first, end;
  nas_slice(key_count, &first, &end);
  count_keys(first, end, histograms + omp_get_thread_num() * key_limit);
#pragma omp barrier
  nas_slice(key_limit, &first, &end);
  rank_slice(first, end);
#pragma omp barrier
#pragma omp master
  test_ranks(iteration, test_keys);
}

// Each thread places the keys of its slice of the key range; a hole, a surplus key or a wrong order is an
// error. Returns the number of errors.
static int64_t sort_errors(void) {
  int32_t* sorted = nas_allocate((size_t)key_count, sizeof *sorted);
  int64_t errors = 0;
#pragma omp parallel reduction(+ : errors)
  {
    int64_t first, end;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < key_count; i++) sorted[i] = -1;
    nas_slice(key_limit, &first, &end);
    for (int64_t i = 0; i < key_count; i++) {
      if (keys[i] < first || keys[i] >= end) continue;
      const int64_t place = smaller_keys[keys[i]]++;
      if (place >= 0 && place < key_count) {
        sorted[place] = keys[i];
      } else {
        errors++;
      }
    }
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t i = 0; i < key_count; i++) errors += sorted[i] < (i == 0 ? 0 : sorted[i - 1]);
  }
  free(sorted);
  return errors;
}

int main(int argc, char** argv) {
  const size_t choice = nas_class(argc, argv, "is", CLASSES);
  const int threads = omp_get_max_threads();
  problem = &problems[choice];
  key_count = INT64_C(1) << problem->keys_log2;
  key_limit = INT64_C(1) << problem->limit_log2;
  keys = nas_allocate((size_t)key_count, sizeof *keys);
  bucketed = nas_allocate((size_t)key_count, sizeof *bucketed);
  histograms = nas_allocate((size_t)threads * (size_t)key_limit, sizeof *histograms);
  smaller_keys = nas_allocate((size_t)key_limit, sizeof *smaller_keys);
  slice_totals = nas_allocate((size_t)threads, sizeof *slice_totals);

  create_keys();
  double start = 0.0;
#pragma omp parallel
  {
    rank_keys(1);  // untimed: touches all memory
#pragma omp barrier
#pragma omp master
    {
      tests_passed = 0;
      start = omp_get_wtime();
    }
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) rank_keys(iteration);
  }
  const double seconds = omp_get_wtime() - start;
  const int64_t errors = sort_errors();

  printf("IS class %c, 2^%d keys below 2^%d, %d threads\n", CLASSES[choice], problem->keys_log2,
         problem->limit_log2, threads);
  printf("ranks tested %d of %d, keys out of order %lld\n", tests_passed, ITERATIONS * TEST_KEYS,
         (long long)errors);
  return nas_finish(tests_passed == ITERATIONS * TEST_KEYS && errors == 0, seconds,
                    (double)ITERATIONS * (double)key_count);
}
