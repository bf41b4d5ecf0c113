// The sieve of Eratosthenes: threads mark multiples of their primes, the same bytes several times.
#include "textbook.h"

enum { limit = 600000, rounds = 3 };

static char composite[limit + 1], expected[limit + 1];
static bool flags[limit + 1];

static void find_expected(void) {
  expected[0] = expected[1] = 1;
  for (long i = 2; i * i <= limit; ++i) {
    for (long k = i * i; !expected[i] && k <= limit; k += i) expected[k] = 1;
  }
}

// Factors are distributed to threads; a factor that a thread has not yet seen as composite only costs time.
static void mark_by_factors(void) {
#pragma omp parallel for schedule(dynamic)
  for (long i = 2; i < 800; ++i) {
    if (composite[i] || i * i > limit) continue;
    for (long k = i * i; k <= limit; k += i) composite[k] = 1;
  }
}

// The multiples of each factor are distributed to threads.
static void mark_by_multiples(void) {
  for (long i = 2; i * i <= limit; ++i) {
    if (flags[i]) continue;
#pragma omp parallel for
    for (long k = i * i; k <= limit; k += i) flags[k] = true;
  }
}

int main(void) {
  long wrong = 0, primes = 0;
  find_expected();
  for (int round = 0; round < rounds; ++round) {
    memset(composite, 0, sizeof composite);
    composite[0] = composite[1] = 1;
    mark_by_factors();
    wrong += count_differences(composite, expected, sizeof composite);
#pragma omp parallel for reduction(+ : primes)
    for (long i = 0; i <= limit; ++i) primes += !composite[i];
  }
  memset(flags, 0, sizeof flags);
  flags[0] = flags[1] = true;
  mark_by_multiples();
  wrong += count_differences(flags, expected, sizeof flags);
  return finish(wrong + (primes != rounds * 49098));
}
