// Sorts numbers as Cilk's example does: four quarters at once, which are merged in pairs; a merge splits at
// the middle of its longer half. Usage: merge_sort [numbers] [largest part without tasks].

#include "../apps/nas.h"

static int64_t alone_max;

static int compare(const void* first, const void* second) {
  const uint64_t a = *(const uint64_t*)first, b = *(const uint64_t*)second;
  return (a > b) - (a < b);
}

// The number of elements that are less than `value`.
static int64_t lower_bound(const uint64_t* sorted, int64_t count, uint64_t value) {
  int64_t first = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (sorted[first + half] < value) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

static void merge_alone(const uint64_t* a, int64_t a_count, const uint64_t* b, int64_t b_count,
                        uint64_t* to) {
  int64_t i = 0, j = 0;
  while (i < a_count && j < b_count) *to++ = b[j] < a[i] ? b[j++] : a[i++];
  while (i < a_count) *to++ = a[i++];
  while (j < b_count) *to++ = b[j++];
}

static void merge(const uint64_t* a, int64_t a_count, const uint64_t* b, int64_t b_count, uint64_t* to) {
  if (a_count < b_count) {
    merge(b, b_count, a, a_count, to);
    return;
  }
  if (a_count + b_count <= alone_max || a_count < 2) {
    merge_alone(a, a_count, b, b_count, to);
    return;
  }
  const int64_t half = a_count / 2, other = lower_bound(b, b_count, a[half]);
#pragma omp task
  merge(a, half, b, other, to);
#pragma omp task
  merge(a + half, a_count - half, b + other, b_count - other, to + half + other);
#pragma omp taskwait
}

static void sort(uint64_t* numbers, uint64_t* space, int64_t count) {
  if (count <= alone_max) {
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return;
  }
  const int64_t quarter = count / 4, last = count - 3 * quarter;
  for (int i = 0; i < 4; ++i) {
#pragma omp task firstprivate(i)
    sort(numbers + i * quarter, space + i * quarter, i == 3 ? last : quarter);
  }
#pragma omp taskwait
#pragma omp task
  merge(numbers, quarter, numbers + quarter, quarter, space);
#pragma omp task
  merge(numbers + 2 * quarter, quarter, numbers + 3 * quarter, last, space + 2 * quarter);
#pragma omp taskwait
  merge(space, 2 * quarter, space + 2 * quarter, quarter + last, numbers);
}

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? atoll(argv[1]) : 8000000;
  alone_max = argc > 2 ? atoll(argv[2]) : 2048;
  if (count < 1 || alone_max < 4) {
    fprintf(stderr, "usage: merge_sort [numbers] [largest part without tasks, at least 4]\n");
    return 2;
  }
  uint64_t *numbers = nas_allocate((size_t)count, sizeof *numbers),
           *space = nas_allocate((size_t)count, sizeof *space);
  uint64_t state = NAS_SEED, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    nas_random(&state);
    numbers[i] = state;
    sum += state * state;
  }
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  sort(numbers, space, count);
  const double seconds = omp_get_wtime() - start;
  int sorted = 1;
  for (int64_t i = 0; i < count; ++i) {
    sorted &= i == 0 || numbers[i - 1] <= numbers[i];
    sum -= numbers[i] * numbers[i];
  }
  printf("sort of %lld numbers, %d threads\n", (long long)count, omp_get_max_threads());
  return nas_finish(sorted && sum == 0, seconds, (double)count);
}
