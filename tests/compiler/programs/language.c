/* What C programs do to memory: it prints the same with checks and without. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

enum { N = 3000 };

struct Particle {
  float position[3];
  unsigned kind : 5, alive : 1;
  union {
    int32_t whole;
    int16_t halves[2];
  } count;
};

struct Large {
  double parts[40];
};

static double values[N], results[N];
static struct Particle particles[N];
static jmp_buf back;
static volatile sig_atomic_t signals;
static struct {
  _Atomic uint8_t byte;
  _Atomic uint16_t half;
  _Atomic uint32_t word;
  _Atomic uint64_t both;
  _Atomic(struct Particle*) pointer;
} atomics[N];
static _Atomic(unsigned __int128) wide[N];
/* A field that straddles bytes of two words, and one that fills its unit. */
static struct {
  unsigned char before;
  uint64_t narrow : 33, broad : 31;
  unsigned flag : 1, rest : 31;
} fields[N];
static union {
  double number;
  uint64_t bits;
  unsigned char bytes[24];
} unions[N];

static void set_fields(struct Particle* all, int n) {
  for (int i = 0; i < n; ++i) {
    all[i].kind = (unsigned)i % 32;
    all[i].alive = i % 3 == 0;
    all[i].count.halves[1] = (int16_t)i;
    for (int k = 0; k < 3; ++k) all[i].position[k] = (float)(i + k);
    if (i % 900 == 899) synchronise();
  }
}

static double sum_list(int count, va_list list) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  return sum;
}

static double sum_of(int count, ...) {
  va_list list, twice;
  va_start(list, count);
  va_copy(twice, list);
  const double sum = sum_list(count, list) + sum_list(count, twice);
  va_end(twice);
  va_end(list);
  return sum;
}

static void fill_until(double* to, int n, int last) {
  for (int i = 0; i < n; ++i) {
    to[i] = i;
    if (i == last) {
      synchronise();
      longjmp(back, i);
    }
  }
}

static uint64_t hash(const void* bytes, size_t n) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < n; ++i) h = (h ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
  return h;
}

static void matrix(int n) {
  double* a = malloc(sizeof(double) * (size_t)n * (size_t)n);
  double(*rows)[n] = (double(*)[n])a;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) rows[i][k] = i < k ? sqrt(i + k) : 0;
  synchronise();
  for (int i = 0; i < n; ++i)
    for (int k = i + 1; k < n; ++k) rows[k][i] = rows[i][k];
  printf("matrix %016llx\n", (unsigned long long)hash(a, sizeof(double) * (size_t)n * (size_t)n));
  free(a);
}

static void on_signal(int number) {
  (void)number;
  signals = signals + 1;
  values[signals * 600] = -signals;
}

static void send_signals(void) {
  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 4; ++i) {
    synchronise();
    raise(SIGUSR1);
    results[i] = values[signals * 600];
  }
  printf("signals %d %g %g\n", (int)signals, values[600], results[3]);
}

__attribute__((noinline)) static struct Large doubled(struct Large large) {
  for (int i = 0; i < 40; ++i) large.parts[i] *= 2;
  return large;
}

/* Structures go by value in and out, from and to memory that is shared. */
static void pass_structures(void) {
  struct Large* all = calloc(20, sizeof *all);
  for (int i = 0; i < 20; ++i) all[i].parts[i] = i;
  synchronise();
  all[3] = doubled(all[17]);
  all[4] = all[3];
  printf("structures %g %g\n", all[3].parts[17], all[4].parts[17]);
}

static void use_atomics(void) {
  struct Particle* expected = NULL;
  for (int i = 0; i < N; ++i) {
    if (i % 700 == 0) synchronise();
    atomic_fetch_add(&atomics[i].byte, (uint8_t)i);
    atomic_fetch_or_explicit(&atomics[i].half, (uint16_t)i, memory_order_relaxed);
    atomic_exchange(&atomics[i].word, (uint32_t)i);
    atomic_store_explicit(&atomics[i].both, (uint64_t)i << 40, memory_order_release);
    expected = NULL;
    atomic_compare_exchange_strong(&atomics[i].pointer, &expected, i % 2 == 0 ? &particles[i] : NULL);
  }
  synchronise();
  uint64_t sum = 0;
  for (int i = 0; i < N; ++i) {
    if (i % 800 == 0) synchronise();
    sum += atomic_load_explicit(&atomics[i].byte, memory_order_relaxed) + atomics[i].half + atomics[i].word +
           atomic_load_explicit(&atomics[i].both, memory_order_acquire);
    sum += atomics[i].pointer != NULL;
  }
  printf("atomics %llu\n", (unsigned long long)sum);
}

/* The widest atomics, with -mcx16: without it they are calls of a library. */
static void use_wide_atomics(void) {
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
  unsigned __int128 sum = 0;
  for (int i = 0; i < N; ++i) {
    if (i % 700 == 0) synchronise();
    atomic_store(&wide[i], (unsigned __int128)(unsigned)i << 70);
    atomic_fetch_add(&wide[i], (unsigned __int128)(unsigned)i);
    unsigned __int128 expected = (unsigned __int128)(unsigned)i << 70 | (unsigned)i;
    if (i % 900 == 0) synchronise();
    if (!atomic_compare_exchange_strong(&wide[i], &expected, expected + 1)) abort();
  }
  synchronise();
  for (int i = 0; i < N; ++i) sum += atomic_exchange(&wide[i], 0);
  printf("wide atomics %016llx%016llx\n", (unsigned long long)(sum >> 64), (unsigned long long)sum);
#endif
}

static void use_fields(void) {
  for (int i = 0; i < N; ++i) {
    if (i % 800 == 0) synchronise();
    fields[i].narrow = (uint64_t)i * 2863311;
    fields[i].flag = i % 2 == 1;
    fields[i].broad += fields[i].narrow + fields[i].flag;
  }
  synchronise();
  printf("bit-fields %016llx\n", (unsigned long long)hash(fields, sizeof fields));
}

/* One member is written, another read, and some bytes are exchanged. */
static void use_unions(void) {
  uint64_t sum = 0;
  for (int i = 0; i < N; ++i) {
    if (i % 900 == 0) synchronise();
    unions[i].number = i / 3.0;
    unions[i].bytes[17] = unions[i].bytes[i % 8];
  }
  synchronise();
  for (int i = 0; i < N; ++i) sum += unions[i].bits ^ unions[i].bytes[17];
  printf("unions %016llx\n", (unsigned long long)sum);
}

/* Assembly is not checked: the store before it has opened the place. */
static void use_assembly(double* place) {
  synchronise();
  *place = 1;
  __asm__("addsd %1, %0" : "+x"(*place) : "x"(2.5));
  __asm__ volatile("incq %0" : "+m"(*place));
  printf("assembly %.17g\n", *place);
}

/* Copies of lengths that the compiler knows, and does not. */
static void copy(size_t n) {
  synchronise();
  memmove(results + 10, results, sizeof(double) * n);
  memcpy(values, results + 500, n / 2 * sizeof(double) + 3);
  memset((char*)values + 8001, 7, n * 2 + 1);
  synchronise();
  memcpy(&particles[3], &particles[N - 1], sizeof particles[0] - 5);
  memcpy((char*)values + 4090, (char*)results + 8185, 13);
  printf("copies %016llx %d\n", (unsigned long long)hash(values, sizeof values), memcmp(values, results, n));
}

/* Local variables whose addresses leave their functions, in a frame that is shared memory. */
__attribute__((noinline)) static double* largest(double** places, int n) {
  double* best = places[0];
  for (int i = 1; i < n; ++i)
    if (*places[i] > *best) best = places[i];
  return best;
}

int main(void) {
  for (int i = 0; i < N; ++i) values[i] = i * 0.5;
  synchronise();
  for (int i = 1; i < N - 1; ++i) results[i] = values[i - 1] + values[i] + values[i + 1];
  synchronise();
  printf("stencil %016llx\n", (unsigned long long)hash(results, sizeof results));
  set_fields(particles, N);
  synchronise();
  printf("fields %016llx\n", (unsigned long long)hash(particles, sizeof particles));
  synchronise();
  printf("varargs %g\n", sum_of(12, 1.0, 2.0, 3.0, values[9], 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0));
  const int last = setjmp(back);
  if (last == 0) fill_until(results, N, 1234);
  printf("longjmp %d %016llx\n", last, (unsigned long long)hash(results, sizeof results));
  copy(2000);
  volatile double* watched = values;
  for (int i = 0; i < N; ++i) {
    if (i % 600 == 0) synchronise();
    watched[i] = watched[i] + 1;
  }
  printf("volatile %016llx\n", (unsigned long long)hash(values, sizeof values));
  send_signals();
  pass_structures();
  use_atomics();
  use_wide_atomics();
  use_fields();
  use_unions();
  use_assembly(&results[77]);
  double one = 1, two = 2;
  double* places[] = {&one, &values[5], &two, &results[7]};
  *largest(places, 4) = 100;
  printf("places %g %g %g\n", one, two, values[5] + results[7]);
  for (int n = 0; n < 200; n += 67) matrix(n);
  return 0;
}
