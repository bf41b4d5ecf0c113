// Stockham's transform: steps of radix 4 between two buffers, each of which leaves the parts in the order
// that the next step reads, so that no permutation is needed; lengths that are no power of 4 end with a step
// of radix 2.

#include "fourier.h"

#include <math.h>

// exp(-2 pi i k / FOURIER_LENGTH_MAX)
static double root_real[FOURIER_LENGTH_MAX];
static double root_imaginary[FOURIER_LENGTH_MAX];

static struct fourier_block other;
#pragma omp threadprivate(other)

void fourier_prepare(void) {
  const double step = 2.0 * acos(-1.0) / FOURIER_LENGTH_MAX;
  for (int k = 0; k < FOURIER_LENGTH_MAX; k++) {
    root_real[k] = cos(step * k);
    root_imaginary[k] = -sin(step * k);
  }
}

// A step: transforms of `length`, `stride` of them adjacent, become 4 times as many transforms of a quarter
// of the length.
static void quarter_length(int length, int stride, const double* restrict from_real,
                           const double* restrict from_imaginary, double* restrict to_real,
                           double* restrict to_imaginary) {
  const int apart = stride * (length / 4);
  for (int p = 0; p < length / 4; p++) {
    const int root = p * (FOURIER_LENGTH_MAX / length);
    const double real_1 = root_real[root], imaginary_1 = root_imaginary[root];
    const double real_2 = root_real[2 * root], imaginary_2 = root_imaginary[2 * root];
    const double real_3 = root_real[3 * root], imaginary_3 = root_imaginary[3 * root];
    const double* restrict a = from_real + p * stride;
    const double* restrict b = from_imaginary + p * stride;
    double* restrict x = to_real + 4 * p * stride;
    double* restrict y = to_imaginary + 4 * p * stride;
#pragma omp simd
    for (int q = 0; q < stride; q++) {
      const double even_real = a[q] + a[q + 2 * apart];
      const double even_imaginary = b[q] + b[q + 2 * apart];
      const double even_real_less = a[q] - a[q + 2 * apart];
      const double even_imaginary_less = b[q] - b[q + 2 * apart];
      const double odd_real = a[q + apart] + a[q + 3 * apart];
      const double odd_imaginary = b[q + apart] + b[q + 3 * apart];
      const double odd_real_less = a[q + apart] - a[q + 3 * apart];
      const double odd_imaginary_less = b[q + apart] - b[q + 3 * apart];
      x[q] = even_real + odd_real;
      y[q] = even_imaginary + odd_imaginary;
      const double second_real = even_real_less + odd_imaginary_less;
      const double second_imaginary = even_imaginary_less - odd_real_less;
      x[q + stride] = real_1 * second_real - imaginary_1 * second_imaginary;
      y[q + stride] = real_1 * second_imaginary + imaginary_1 * second_real;
      const double third_real = even_real - odd_real;
      const double third_imaginary = even_imaginary - odd_imaginary;
      x[q + 2 * stride] = real_2 * third_real - imaginary_2 * third_imaginary;
      y[q + 2 * stride] = real_2 * third_imaginary + imaginary_2 * third_real;
      const double fourth_real = even_real_less - odd_imaginary_less;
      const double fourth_imaginary = even_imaginary_less + odd_real_less;
      x[q + 3 * stride] = real_3 * fourth_real - imaginary_3 * fourth_imaginary;
      y[q + 3 * stride] = real_3 * fourth_imaginary + imaginary_3 * fourth_real;
    }
  }
}

// The last step: transforms of length 2, which need no roots.
static void halve_length(int stride, const double* restrict from, double* restrict to) {
#pragma omp simd
  for (int q = 0; q < stride; q++) {
    to[q] = from[q] + from[q + stride];
    to[q + stride] = from[q] - from[q + stride];
  }
}

void fourier_transform(int direction, int length, struct fourier_block* block) {
  // Exchanging the real and imaginary parts, before and after, reverses the direction.
  double* real = direction < 0 ? block->real : block->imaginary;
  double* imaginary = direction < 0 ? block->imaginary : block->real;
  double* real_to = direction < 0 ? other.real : other.imaginary;
  double* imaginary_to = direction < 0 ? other.imaginary : other.real;
  int stride = FOURIER_VECTORS;
  for (int left = length; left > 1; left /= 4) {
    if (left == 2) {
      halve_length(stride, real, real_to);
      halve_length(stride, imaginary, imaginary_to);
    } else {
      quarter_length(left, stride, real, imaginary, real_to, imaginary_to);
    }
    stride *= 4;
    double* const real_from = real;
    double* const imaginary_from = imaginary;
    real = real_to;
    imaginary = imaginary_to;
    real_to = real_from;
    imaginary_to = imaginary_from;
  }
  if (real == block->real || real == block->imaginary) return;
  const int count = length * FOURIER_VECTORS;
  for (int i = 0; i < count; i++) block->real[i] = other.real[i];
  for (int i = 0; i < count; i++) block->imaginary[i] = other.imaginary[i];
}
