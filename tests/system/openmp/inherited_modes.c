// Threads begin with the floating-point modes of the thread that created them, and keep modes that they set
// themselves: OpenMP threads are created by the first region that needs them, and end with the last.
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <xmmintrin.h>

#include "check.h"

#define THREADS_MAX 64

struct modes {
  unsigned vectors;  // without the raised exceptions
  unsigned short x87;
};

static volatile double one = 1, three = 3, tiny = 0x1p-1022;
static volatile long double long_one = 1, long_three = 3;

static struct modes own_modes(void) {
  struct modes modes;
  modes.vectors = _mm_getcsr() & ~0x3fu;
  __asm__ volatile("fnstcw %0" : "=m"(modes.x87));
  return modes;
}

static int have_modes(struct modes expected) {
  const struct modes modes = own_modes();
  return modes.vectors == expected.vectors && modes.x87 == expected.x87;
}

static void set_precision_of_double(void) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word = (word & ~0x300) | 0x200;
  __asm__ volatile("fldcw %0" : : "m"(word));
}

// Modes that main sets before its first region hold in all threads, and in their arithmetic.
static void check_first_region(int threads) {
  fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);  // subnormal numbers are zero
  set_precision_of_double();
  feenableexcept(FE_DIVBYZERO);
  const struct modes modes = own_modes();
  const double upper = one / three;
  const long double short_upper = long_one / long_three;
#pragma omp parallel num_threads(threads)
  {
    CHECK(have_modes(modes));
    CHECK(fegetround() == FE_UPWARD && fegetexcept() == FE_DIVBYZERO);
    CHECK(one / three == upper && long_one / long_three == short_upper);
    CHECK(tiny / three == 0);
  }
}

static void check_kept(int threads) {
  static struct modes before[THREADS_MAX];
  fesetround(FE_DOWNWARD);
  const struct modes of_main = own_modes();
#pragma omp parallel num_threads(threads)
  {
    const int own = omp_get_thread_num();
    if (own == 0) {
      CHECK(have_modes(of_main));
    } else {
      CHECK(fegetround() == FE_UPWARD);
      fesetround(own % 2 == 0 ? FE_TOWARDZERO : FE_TONEAREST);
    }
    before[own] = own_modes();
  }
#pragma omp parallel num_threads(1)
  CHECK(have_modes(of_main));
#pragma omp parallel num_threads(threads)
  CHECK(have_modes(before[omp_get_thread_num()]));
}

// A smaller team ends threads; those of the next larger team begin with main's modes at that time.
static void check_growing(int threads) {
  CHECK(fesetenv(FE_DFL_ENV) == 0);
  const struct modes modes = own_modes();
#pragma omp parallel num_threads(threads - 1)
  CHECK(omp_get_num_threads() == threads - 1);
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() == threads - 1) CHECK(have_modes(modes));
}

static void* check_modes(void* expected) {
  CHECK(have_modes(*(const struct modes*)expected));
  return NULL;
}

static void check_made_thread(void) {
  struct modes expected = own_modes();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, check_modes, &expected) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  int threads = omp_get_max_threads();
  if (threads < 2) threads = 2;
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  check_first_region(threads);
  check_kept(threads);
  if (threads > 2) check_growing(threads);
#pragma omp parallel num_threads(threads)
  {
    fesetround(FE_UPWARD);
    check_made_thread();
  }
  puts("inherited_modes: passed");
  return 0;
}
