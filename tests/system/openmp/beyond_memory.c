// More data than a rank may hold, initialised by main alone: swept by all threads, sorted, verified; or
// multiplied as matrices. Arguments: sort or product, and the number of MiB.
#include <stdint.h>

#include "check.h"

typedef uint64_t Key;

// Uniform: a bijection of the index (splitmix64).
static Key key_of(uint64_t i) {
  i += 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
  return i ^ (i >> 31);
}

// Moves keys below `bound` to the front. Result: their number.
static size_t partition(Key* keys, size_t count, Key bound) {
  size_t low = 0, high = count;
  for (;;) {
    while (low < high && keys[low] < bound) ++low;
    while (low < high && keys[high - 1] >= bound) --high;
    if (low >= high) return low;
    const Key key = keys[low];
    keys[low++] = keys[--high];
    keys[high] = key;
  }
}

static void sort(Key* keys, size_t count) {
  while (count > 24) {
    const Key a = keys[0], b = keys[count / 2], c = keys[count - 1];
    const Key middle = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
    size_t split = partition(keys, count, middle);
    if (split == 0) split = partition(keys, count, middle + 1);
    sort(keys, split);
    keys += split;
    count -= split;
  }
  for (size_t i = 1; i < count; ++i) {
    const Key key = keys[i];
    size_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

enum { threads_max = 64 };
static size_t begins[threads_max + 1];

// Each level halves the ranges of values, each by one thread; then each thread sorts its range.
static void sort_all(Key* keys, size_t count) {
  int parts = 1;
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    int most = 1;
    while (2 * most <= omp_get_num_threads() && 2 * most <= threads_max) most *= 2;
#pragma omp single
    {
      begins[0] = 0;
      begins[most] = count;
      parts = most;
    }
    for (int step = most; step > 1; step /= 2) {
      if (self < most && self % step == 0) {
        const size_t begin = begins[self], end = begins[self + step];
        const Key bound = (Key)(self + step / 2) * (UINT64_MAX / (Key)most);
        begins[self + step / 2] = begin + partition(keys + begin, end - begin, bound);
      }
#pragma omp barrier
    }
    if (self < most) sort(keys + begins[self], begins[self + 1] - begins[self]);
  }
  CHECK(parts >= 1);
}

// For tests that act at that moment.
static void say(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
}

static void run_sort(size_t bytes) {
  const size_t count = bytes / sizeof(Key);
  Key* keys = malloc(count * sizeof *keys);
  CHECK(keys != NULL);
  Key sum_before = 0, mix_before = 0;
  for (size_t i = 0; i < count; ++i) {
    keys[i] = key_of(i);
    sum_before += keys[i];
    mix_before ^= keys[i];
  }
  say("initialised");
  size_t wrong = 0;
  for (int sweep = 0; sweep < 2; ++sweep) {
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (size_t i = 0; i < count; ++i) {
      wrong += keys[i] != (sweep == 0 ? key_of(i) : ~key_of(i));
      keys[i] = ~keys[i];
    }
    say("swept");
  }
  CHECK(wrong == 0);
  sort_all(keys, count);
  Key sum = 0, mix = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, wrong) reduction(^ : mix)
  for (size_t i = 0; i < count; ++i) {
    sum += keys[i];
    mix ^= keys[i];
    wrong += i != 0 && keys[i - 1] > keys[i];
  }
  CHECK(wrong == 0 && sum == sum_before && mix == mix_before);
  free(keys);
}

enum { inner = 32 };

// c = a * b with inner dimension 32, so that c is nearly all of the data.
static void run_product(size_t bytes) {
  size_t n = 1;
  while ((n + 1) * (n + 1 + 2 * inner) * sizeof(double) <= bytes) ++n;
  double* a = malloc(n * inner * sizeof *a);
  double* b = malloc(inner * n * sizeof *b);
  double* c = malloc(n * n * sizeof *c);
  CHECK(a != NULL && b != NULL && c != NULL);
  for (size_t i = 0; i < n * inner; ++i) {
    a[i] = (double)(i / inner % 7) + 1;
    b[i] = (double)(i % n % 5) + (double)(i / n);
  }
  for (size_t i = 0; i < n * n; ++i) c[i] = (double)(i % 3);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < inner; ++k) {
      const double factor = a[i * inner + k];
      for (size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
    }
  }
  size_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (size_t j = 0; j < n; ++j) {  // by columns of blocks: other threads read the blocks
    for (size_t i = j % 64; i < n; i += 64) {
      const double row = (double)(i % 7) + 1;
      const double exact =
          (double)((i * n + j) % 3) + row * (inner * (double)(j % 5) + inner * (inner - 1) / 2.0);
      wrong += c[i * n + j] != exact;
    }
  }
  CHECK(wrong == 0);
  free(a);
  free(b);
  free(c);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const size_t bytes = (size_t)atol(argv[2]) << 20;
  if (strcmp(argv[1], "sort") == 0) {
    run_sort(bytes);
  } else {
    run_product(bytes);
  }
  printf("verified\n");
  return 0;
}
