/* What C programs do to loops: it prints the same with checks and without. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000 };

struct Particle {
  float position[3];
  unsigned kind : 5, alive : 1;
  union {
    int32_t whole;
    int16_t halves[2];
  } count;
};

static double values[N], results[N];
static struct Particle particles[N];
static jmp_buf back;

static void set_fields(struct Particle* all, int n) {
  for (int i = 0; i < n; ++i) {
    all[i].kind = (unsigned)i % 32;
    all[i].alive = i % 3 == 0;
    all[i].count.halves[1] = (int16_t)i;
    for (int k = 0; k < 3; ++k) all[i].position[k] = (float)(i + k);
  }
}

static double sum_of(int count, ...) {
  va_list list;
  double sum = 0;
  va_start(list, count);
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  va_end(list);
  return sum;
}

static void fill_until(double* to, int n, int last) {
  for (int i = 0; i < n; ++i) {
    to[i] = i;
    if (i == last) longjmp(back, i);
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
  for (int i = 0; i < n; ++i)
    for (int k = i + 1; k < n; ++k) rows[k][i] = rows[i][k];
  printf("matrix %016llx\n", (unsigned long long)hash(a, sizeof(double) * (size_t)n * (size_t)n));
  free(a);
}

int main(void) {
  for (int i = 0; i < N; ++i) values[i] = i * 0.5;
  for (int i = 1; i < N - 1; ++i) results[i] = values[i - 1] + values[i] + values[i + 1];
  printf("stencil %016llx\n", (unsigned long long)hash(results, sizeof results));
  set_fields(particles, N);
  printf("fields %016llx\n", (unsigned long long)hash(particles, sizeof particles));
  printf("varargs %g\n", sum_of(4, 1.0, 2.0, 3.0, values[9]));
  const int last = setjmp(back);
  if (last == 0) fill_until(results, N, 1234);
  printf("longjmp %d %016llx\n", last, (unsigned long long)hash(results, sizeof results));
  memmove(results + 10, results, sizeof(double) * 2000);
  memcpy(values, results + 500, sizeof(double) * 1001 + 3);
  memset((char*)values + 8001, 7, 5001);
  printf("partial copies %016llx\n", (unsigned long long)hash(values, sizeof values));
  volatile double* watched = values;
  for (int i = 0; i < N; ++i) watched[i] = watched[i] + 1;
  printf("volatile %016llx\n", (unsigned long long)hash(values, sizeof values));
  for (int n = 0; n < 200; n += 67) matrix(n);
  return 0;
}
