// Reductions of every operator and type.
#include <complex.h>

#include "check.h"

enum { iterations = 1000 };

#define SUM_IN(type)                                                                                   \
  do {                                                                                                 \
    type sum = (type)5;                                                                                \
    _Pragma("omp parallel for reduction(+ : sum)") for (int i = 0; i < iterations; ++i) sum +=         \
        (type)(i % 7);                                                                                 \
    type expected = (type)5;                                                                           \
    for (int i = 0; i < iterations; ++i) expected += (type)(i % 7);                                    \
    CHECK(sum == expected);                                                                            \
    type product = (type)1;                                                                            \
    _Pragma("omp parallel for reduction(* : product)") for (int i = 0; i < 6; ++i) product *= (type)2; \
    CHECK(product == (type)64);                                                                        \
  } while (0)

#define EXTREMES_IN(type)                                                                               \
  do {                                                                                                  \
    type smallest = (type)120, largest = (type)0;                                                       \
    _Pragma("omp parallel for reduction(min : smallest) reduction(max : largest)") for (int i = 0;      \
                                                                                        i < iterations; \
                                                                                        ++i) {          \
      const type value = (type)(3 + i * 31 % 97);                                                       \
      if (value < smallest) smallest = value;                                                           \
      if (value > largest) largest = value;                                                             \
    }                                                                                                   \
    CHECK(smallest == (type)3);                                                                         \
    CHECK(largest == (type)99);                                                                         \
  } while (0)

static void logical_and_bitwise(void) {
  int all = 1, any = 0;
  unsigned conjunction = ~0u, disjunction = 0, parity = 0;
#pragma omp parallel for reduction(&& : all) reduction(|| : any)
  for (int i = 0; i < iterations; ++i) {
    all = all && i < iterations - 1;
    any = any || i == 777;
  }
  CHECK(all == 0 && any == 1);
#pragma omp parallel for reduction(& : conjunction)
  for (int i = 0; i < iterations; ++i) conjunction &= ~(1u << (i % 8));
#pragma omp parallel for reduction(| : disjunction)
  for (int i = 0; i < iterations; ++i) disjunction |= 1u << (i % 20);
#pragma omp parallel for reduction(^ : parity)
  for (int i = 0; i < iterations; ++i) parity ^= (unsigned)i;
  unsigned expected = 0;
  for (int i = 0; i < iterations; ++i) expected ^= (unsigned)i;
  CHECK(conjunction == 0xffffff00u && disjunction == 0xfffffu && parity == expected);
}

typedef struct {
  double value;
  int index;
} Place;

static Place larger(Place a, Place b) {
  return a.value > b.value ? a : b;
}

#pragma omp declare reduction(largest_place:Place : omp_out = larger(omp_out, omp_in)) \
    initializer(omp_priv = (Place){-1.0, -1})

static void of_the_users_own(void) {
  Place best = {-1.0, -1};
#pragma omp parallel for reduction(largest_place : best)
  for (int i = 0; i < iterations; ++i) best = larger(best, (Place){(double)(i * 271 % iterations), i});
  CHECK(best.value == iterations - 1 && best.index * 271 % iterations == iterations - 1);
}

static void of_arrays(void) {
  long histogram[50] = {0};
  double* heap = calloc(100, sizeof *heap);
#pragma omp parallel for reduction(+ : histogram[ : 50]) reduction(+ : heap[ : 100])
  for (int i = 0; i < iterations; ++i) {
    histogram[i % 50] += i;
    heap[i % 100] += 0.25;
  }
  for (int i = 0; i < 50; ++i) CHECK(histogram[i] == 20L * i + 50L * (19 * 20 / 2));
  for (int i = 0; i < 100; ++i) CHECK(heap[i] == 2.5);
  free(heap);
}

static void of_complex_numbers(void) {
  double complex sum = 0;
  long double wide = 0;
#pragma omp parallel for reduction(+ : sum, wide)
  for (int i = 0; i < iterations; ++i) {
    sum += i + 2.0 * i * I;
    wide += 0.5L;
  }
  CHECK(creal(sum) == 499500.0 && cimag(sum) == 999000.0 && wide == 500.0L);
}

int main(void) {
  SUM_IN(signed char);
  SUM_IN(unsigned char);
  SUM_IN(short);
  SUM_IN(int);
  SUM_IN(unsigned);
  SUM_IN(long);
  SUM_IN(unsigned long long);
  SUM_IN(float);
  SUM_IN(double);
  SUM_IN(long double);
  EXTREMES_IN(signed char);
  EXTREMES_IN(unsigned short);
  EXTREMES_IN(int);
  EXTREMES_IN(long);
  EXTREMES_IN(float);
  EXTREMES_IN(double);
  logical_and_bitwise();
  of_the_users_own();
  of_arrays();
  of_complex_numbers();
  return 0;
}
