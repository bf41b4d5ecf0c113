// Atomics that the compiler inlines into the program's own instructions, from all threads at once.
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"

enum { times = 3000 };

static int threads;

#define COUNT_IN(type, name)                                                                          \
  static type name##_omp, name##_sync, name##_loop, name##_capture;                                   \
  static _Atomic type name##_c11;                                                                     \
  static void count_in_##name(void) {                                                                 \
    _Pragma("omp parallel") for (int i = 0; i < times; ++i) {                                         \
      _Pragma("omp atomic") name##_omp += 3;                                                          \
      atomic_fetch_add(&name##_c11, 3);                                                               \
      __sync_fetch_and_add(&name##_sync, 3);                                                          \
      type seen = __atomic_load_n(&name##_loop, __ATOMIC_RELAXED);                                    \
      while (!__atomic_compare_exchange_n(&name##_loop, &seen, (type)(seen + 3), 0, __ATOMIC_ACQ_REL, \
                                          __ATOMIC_RELAXED)) {                                        \
      }                                                                                               \
      type got;                                                                                       \
      _Pragma("omp atomic capture") got = name##_capture++;                                           \
      (void)got;                                                                                      \
    }                                                                                                 \
    const type expected = (type)(3 * times * threads);                                                \
    CHECK(name##_omp == expected);                                                                    \
    CHECK(name##_c11 == expected);                                                                    \
    CHECK(name##_sync == expected);                                                                   \
    CHECK(name##_loop == expected);                                                                   \
    CHECK(name##_capture == (type)(times * threads));                                                 \
  }

COUNT_IN(uint8_t, byte)
COUNT_IN(uint16_t, half)
COUNT_IN(uint32_t, word)
COUNT_IN(uint64_t, wide)

static double real;
static float single_precision;
static unsigned bits_or, bits_xor, bits_and = ~0u;
static long largest;

static void other_operators(void) {
#pragma omp parallel
  for (int i = 0; i < times; ++i) {
    const int thread = omp_get_thread_num();
#pragma omp atomic
    real += 0.5;
#pragma omp atomic
    single_precision += 1.0f;
#pragma omp atomic
    bits_or |= 1u << (i % 32);
#pragma omp atomic
    bits_xor ^= (unsigned)i;
    __sync_fetch_and_and(&bits_and, ~(1u << (i % 16)));
    const long mine = (long)i * threads + thread;
    long seen = __atomic_load_n(&largest, __ATOMIC_RELAXED);
    while (seen < mine &&
           !__atomic_compare_exchange_n(&largest, &seen, mine, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
  }
  unsigned one_thread = 0;
  for (int i = 0; i < times; ++i) one_thread ^= (unsigned)i;
  CHECK(real == 0.5 * times * threads);
  CHECK(single_precision == (float)times * (float)threads);
  CHECK(bits_or == ~0u);
  CHECK(bits_xor == (threads % 2 == 1 ? one_thread : 0u));
  CHECK(bits_and == 0xffff0000u);
  CHECK(largest == (long)times * threads - 1);
}

static int spin_word;
static long guarded, guarded_copy;

// A hand-written lock: it guards plain words of another page.
static void spin_lock_by_exchange(void) {
#pragma omp parallel
  for (int i = 0; i < times / 10; ++i) {
    while (__sync_lock_test_and_set(&spin_word, 1) != 0) {
#pragma omp flush
    }
    CHECK(guarded == guarded_copy);
    ++guarded;
    ++guarded_copy;
#pragma omp flush
    __sync_lock_release(&spin_word);
  }
  CHECK(guarded == (long)threads * (times / 10));
}

// Tickets drawn on the heap are all different.
static void draw_tickets(void) {
  unsigned* next = calloc(1, sizeof *next);
  unsigned char* drawn = calloc((size_t)times * (size_t)threads, 1);
#pragma omp parallel
  for (int i = 0; i < times; ++i) {
    const unsigned ticket = __atomic_fetch_add(next, 1, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&drawn[ticket], 1, __ATOMIC_RELAXED);
  }
  CHECK(*next == (unsigned)(times * threads));
  for (int i = 0; i < times * threads; ++i) CHECK(drawn[i] == 1);
  free(next);
  free(drawn);
}

int main(void) {
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  count_in_byte();
  count_in_half();
  count_in_word();
  count_in_wide();
  other_operators();
  spin_lock_by_exchange();
  draw_tickets();
  return 0;
}
