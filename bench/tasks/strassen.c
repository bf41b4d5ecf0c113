// Product of two square matrices by Strassen's seven products, each of which is a task, down to a size.
// Checked as by Freivalds: C x = A (B x). Usage: strassen [rows, a power of two] [rows without tasks].

#include "../apps/nas.h"

static int alone_max;

// A square part of a matrix: `stride` elements from a row to the next.
struct part {
  double* at;
  int stride;
};

static struct part quarter(struct part whole, int size, int row, int column) {
  return (struct part){whole.at + ((size_t)row * whole.stride + column) * (size / 2), whole.stride};
}

static struct part temporary(double* space, int size, int number) {
  return (struct part){space + (size_t)number * size * size, size};
}

static void add(struct part a, double factor, struct part b, struct part to, int size) {
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j)
      to.at[i * to.stride + j] = a.at[i * a.stride + j] + factor * b.at[i * b.stride + j];
  }
}

static void multiply_alone(struct part a, struct part b, struct part c, int size) {
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) c.at[i * c.stride + j] = 0;
    for (int k = 0; k < size; ++k) {
      const double factor = a.at[i * a.stride + k];
      for (int j = 0; j < size; ++j) c.at[i * c.stride + j] += factor * b.at[k * b.stride + j];
    }
  }
}

static void multiply(struct part a, struct part b, struct part c, int size);

// to = (a1 + af a2) (b1 + bf b2), in memory of its own; a factor of 0 leaves the summand out.
static void multiply_sums(struct part a1, double af, struct part a2, struct part b1, double bf,
                          struct part b2, struct part to, int size) {
  double* space = nas_allocate(2 * (size_t)size * size, sizeof *space);
  const struct part left = temporary(space, size, 0), right = temporary(space, size, 1);
  if (af != 0) add(a1, af, a2, left, size);
  if (bf != 0) add(b1, bf, b2, right, size);
  multiply(af != 0 ? left : a1, bf != 0 ? right : b1, to, size);
  free(space);
}

static void multiply(struct part a, struct part b, struct part c, int size) {
  if (size <= alone_max) {
    multiply_alone(a, b, c, size);
    return;
  }
  const int half = size / 2;
  const struct part a11 = quarter(a, size, 0, 0), a12 = quarter(a, size, 0, 1), a21 = quarter(a, size, 1, 0),
                    a22 = quarter(a, size, 1, 1);
  const struct part b11 = quarter(b, size, 0, 0), b12 = quarter(b, size, 0, 1), b21 = quarter(b, size, 1, 0),
                    b22 = quarter(b, size, 1, 1);
  double* space = nas_allocate(7 * (size_t)half * half, sizeof *space);
  struct part m[7];
  for (int i = 0; i < 7; ++i) m[i] = temporary(space, half, i);
#pragma omp task
  multiply_sums(a11, 1, a22, b11, 1, b22, m[0], half);
#pragma omp task
  multiply_sums(a21, 1, a22, b11, 0, b11, m[1], half);
#pragma omp task
  multiply_sums(a11, 0, a11, b12, -1, b22, m[2], half);
#pragma omp task
  multiply_sums(a22, 0, a22, b21, -1, b11, m[3], half);
#pragma omp task
  multiply_sums(a11, 1, a12, b22, 0, b22, m[4], half);
#pragma omp task
  multiply_sums(a21, -1, a11, b11, 1, b12, m[5], half);
#pragma omp task
  multiply_sums(a12, -1, a22, b21, 1, b22, m[6], half);
#pragma omp taskwait
  const struct part c11 = quarter(c, size, 0, 0), c12 = quarter(c, size, 0, 1), c21 = quarter(c, size, 1, 0),
                    c22 = quarter(c, size, 1, 1);
  add(m[0], 1, m[3], c11, half);
  add(c11, -1, m[4], c11, half);
  add(c11, 1, m[6], c11, half);
  add(m[2], 1, m[4], c12, half);
  add(m[1], 1, m[3], c21, half);
  add(m[0], -1, m[1], c22, half);
  add(c22, 1, m[2], c22, half);
  add(c22, 1, m[5], c22, half);
  free(space);
}

static void apply(const double* matrix, const double* vector, double* to, int size) {
  for (int i = 0; i < size; ++i) {
    to[i] = 0;
    for (int j = 0; j < size; ++j) to[i] += matrix[(size_t)i * size + j] * vector[j];
  }
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? atoi(argv[1]) : 1024;
  alone_max = argc > 2 ? atoi(argv[2]) : 64;
  if (size < 1 || (size & (size - 1)) != 0 || alone_max < 1) {
    fprintf(stderr, "usage: strassen [rows, a power of two] [rows without tasks]\n");
    return 2;
  }
  const size_t count = (size_t)size * size;
  double *a = nas_allocate(count, sizeof *a), *b = nas_allocate(count, sizeof *b),
         *c = nas_allocate(count, sizeof *c), *vectors = nas_allocate(4 * (size_t)size, sizeof *vectors);
  uint64_t state = NAS_SEED;
  for (size_t i = 0; i < count; ++i) {
    a[i] = nas_random(&state) - 0.5;
    b[i] = nas_random(&state) - 0.5;
  }
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  multiply((struct part){a, size}, (struct part){b, size}, (struct part){c, size}, size);
  const double seconds = omp_get_wtime() - start;

  double *x = vectors, *bx = x + size, *abx = bx + size, *cx = abx + size;
  for (int i = 0; i < size; ++i) x[i] = nas_random(&state) - 0.5;
  apply(b, x, bx, size);
  apply(a, bx, abx, size);
  apply(c, x, cx, size);
  int equal = 1;
  for (int i = 0; i < size; ++i) equal &= fabs(abx[i] - cx[i]) <= 1e-9 * size;
  printf("strassen of %d rows, %d threads\n", size, omp_get_max_threads());
  return nas_finish(equal, seconds, 2 * pow(size, 3));
}
