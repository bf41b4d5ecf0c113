// Fourier transform of n = m * m complex numbers in six steps: transposes of an m by m matrix, in which
// threads read each other's rows, and transforms of rows. Forwards, back, and compared. Usage: fft [threads]
// [log2 m].
#include <complex.h>
#include <math.h>

#include "thread_team.h"

typedef double complex number;

static int m, forwards;
static number *from, *to;  // m * m each
static pthread_barrier_t barrier;

static number root(double part) {
  return cexp((forwards ? -2 : 2) * M_PI * I * part);
}

static void transpose(const number* source, number* target, long first, long end) {
  for (long i = first; i < end; ++i) {
    for (long j = 0; j < m; ++j) target[i * m + j] = source[j * m + i];
  }
}

// In place, by halving, with the bits of the indices reversed first.
static void transform_row(number* row) {
  for (int i = 1, j = 0; i < m; ++i) {
    int bit = m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) {
      const number kept = row[i];
      row[i] = row[j];
      row[j] = kept;
    }
  }
  for (int length = 2; length <= m; length *= 2) {
    for (int j = 0; j < length / 2; ++j) {
      const number factor = root((double)j / length);
      for (int i = j; i < m; i += length) {
        const number other = row[i + length / 2] * factor;
        row[i + length / 2] = row[i] - other;
        row[i] += other;
      }
    }
  }
}

static void work(int me, int size) {
  long first, end;
  part_of(m, me, size, &first, &end);
  transpose(from, to, first, end);
  for (long i = first; i < end; ++i) {
    transform_row(to + i * m);
    for (long j = 0; j < m; ++j) to[i * m + j] *= root((double)i * (double)j / ((double)m * m));
  }
  pthread_barrier_wait(&barrier);
  transpose(to, from, first, end);
  for (long i = first; i < end; ++i) transform_row(from + i * m);
  pthread_barrier_wait(&barrier);
  transpose(from, to, first, end);
}

static number input(long i) {
  return sin(i * 0.7) + I * cos(i * i * 0.1);
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  m = 1 << number_of(argc, argv, 2, 6, 12);
  const long n = (long)m * m;
  from = malloc(sizeof(number) * (size_t)n);
  to = malloc(sizeof(number) * (size_t)n);
  CHECK(from != NULL && to != NULL && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  for (long i = 0; i < n; ++i) from[i] = input(i);
  const double start = seconds();
  forwards = 1;
  run_team(threads, work);
  const double time = seconds() - start;
  number expected = 0;
  const long k = n / 3;
  for (long i = 0; i < n; ++i) expected += input(i) * root((double)(i * k % n) / (double)n);
  CHECK(cabs(to[k] - expected) <= 1e-9 * (double)n);
  number* kept = from;
  from = to;
  to = kept;
  forwards = 0;
  run_team(threads, work);
  for (long i = 0; i < n; ++i) CHECK(cabs(to[i] / (double)n - input(i)) <= 1e-9);
  printf("fft: %ld numbers, %d threads, time %.6f s\n", n, threads, time);
  return 0;
}
