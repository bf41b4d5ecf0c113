// A Fourier transform of n x n points by six steps (Bailey, "FFTs in External or Hierarchical Memory",
// Supercomputing 1989): transposes, in each of which every thread reads from all threads, and transforms of
// rows, which a thread has to itself. Usage: six_step [n, a power of two] [repetitions].

#include "lines.h"

typedef struct {
  double real, imaginary;
} point;

static int64_t n;
static point *data, *other, *roots;  // roots of order n

static struct part own_rows(void) {
  return part_of(n, omp_get_thread_num(), omp_get_num_threads());
}

// Row by row of each thread, a piece of each: the columns that become this thread's rows.
static void transpose(const point* restrict from, point* restrict to, struct part mine) {
  const int threads = omp_get_num_threads(), me = omp_get_thread_num();
  for (int step = 0; step < threads; step++) {
    const struct part theirs = part_of(n, (me + step) % threads, threads);
    for (int64_t row = theirs.first; row < theirs.end; row++) {
      for (int64_t column = mine.first; column < mine.end; column++)
        to[column * n + row] = from[row * n + column];
    }
  }
}

static void reverse_bits(point* row) {
  for (int64_t i = 1, reversed = 0; i < n; i++) {
    int64_t bit = n >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed |= bit;
    if (i < reversed) {
      const point kept = row[i];
      row[i] = row[reversed];
      row[reversed] = kept;
    }
  }
}

static point product(point a, point b) {
  return (point){a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

static point turned(double angle) {
  return (point){cos(angle), sin(angle)};
}

static void transform_row(point* row, const point* own_roots) {
  reverse_bits(row);
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t first = 0; first < n; first += 2 * half) {
      for (int64_t i = 0; i < half; i++) {
        const point odd = product(row[first + half + i], own_roots[i * (n / 2 / half)]);
        const point even = row[first + i];
        row[first + half + i] = (point){even.real - odd.real, even.imaginary - odd.imaginary};
        row[first + i] = (point){even.real + odd.real, even.imaginary + odd.imaginary};
      }
    }
  }
}

static void twiddle_row(point* row, int64_t number) {
  for (int64_t i = 0; i < n; i++) {
    row[i] = product(row[i], turned(-2.0 * M_PI * (double)(number * i) / ((double)n * (double)n)));
  }
}

static void six_steps(void) {
  const struct part mine = own_rows();
  transpose(data, other, mine);
  for (int64_t row = mine.first; row < mine.end; row++) {
    transform_row(other + row * n, roots);
    twiddle_row(other + row * n, row);
  }
#pragma omp barrier
  transpose(other, data, mine);
  for (int64_t row = mine.first; row < mine.end; row++) transform_row(data + row * n, roots);
#pragma omp barrier
  transpose(data, other, mine);
#pragma omp barrier
}

// A wave, whose transform is one point.
static void fill(int64_t frequency) {
  const struct part mine = own_rows();
  for (int64_t row = mine.first; row < mine.end; row++) {
    for (int64_t column = 0; column < n; column++) {
      const int64_t turn = (row * n + column) % (n * n) * frequency % (n * n);
      data[row * n + column] = turned(2.0 * M_PI * (double)turn / ((double)n * (double)n));
    }
  }
#pragma omp barrier
}

static double largest_error(int64_t frequency) {
  double worst = 0.0;
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t i = 0; i < n * n; i++) {
    const double expected = i == frequency ? (double)n * (double)n : 0.0;
    worst = fmax(worst, hypot(other[i].real - expected, other[i].imaginary));
  }
  return worst / ((double)n * (double)n);
}

int main(int argc, char** argv) {
  n = argument(argc, argv, 1, 256);
  const int64_t repetitions = argument(argc, argv, 2, 2);
  data = allocate(n * n, sizeof *data);
  other = allocate(n * n, sizeof *other);
  roots = allocate(n / 2 + 1, sizeof *roots);
  for (int64_t i = 0; i < n / 2; i++) roots[i] = turned(-2.0 * M_PI * (double)i / (double)n);
  double seconds = 0.0, start = 0.0;
  for (int64_t i = 0; i <= repetitions; i++) {
#pragma omp parallel
    {
      fill(n * 3 + i);
#pragma omp master
      start = omp_get_wtime();
      six_steps();
    }
    if (i > 0) seconds += omp_get_wtime() - start;
  }
  const double error = largest_error(n * 3 + repetitions);
  printf("largest error %.3g\n", error);
  return finish(error < 1e-9, seconds);
}
