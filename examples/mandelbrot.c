// The Mandelbrot set, with rows scheduled dynamically because their times differ widely; compared pixel by
// pixel and by a checksum with a picture made by one thread.
// Usage: mandelbrot [pixels per side] [file.pgm]

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_MAX 1000

static int escape_time(double real, double imaginary) {
  double x = 0.0;
  double y = 0.0;
  int count = 0;
  while (count < ITERATIONS_MAX && x * x + y * y <= 4.0) {
    const double next = x * x - y * y + real;
    y = 2.0 * x * y + imaginary;
    x = next;
    count++;
  }
  return count;
}

static void draw_row(unsigned short* row, int side, int index) {
  for (int column = 0; column < side; column++) {
    row[column] = (unsigned short)escape_time(-2.2 + 3.2 * column / side, -1.6 + 3.2 * index / side);
  }
}

static unsigned long checksum(const unsigned short* picture, size_t pixels) {
  unsigned long sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < pixels; i++) sum += picture[i] * (i + 1);
  return sum;
}

static int write_picture(const char* path, const unsigned short* picture, int side) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return 0;
  fprintf(file, "P5 %d %d 255\n", side, side);
  for (size_t i = 0; i < (size_t)side * (size_t)side; i++) {
    fputc(picture[i] == ITERATIONS_MAX ? 0 : 255 - picture[i] % 256, file);
  }
  return fclose(file) == 0;
}

int main(int argc, char** argv) {
  const int side = argc > 1 ? atoi(argv[1]) : 300;
  const size_t pixels = (size_t)side * (size_t)side;
  unsigned short* picture = side > 0 ? calloc(pixels, sizeof *picture) : NULL;
  unsigned short* reference = side > 0 ? calloc(pixels, sizeof *reference) : NULL;
  if (picture == NULL || reference == NULL) {
    fprintf(stderr, "usage: mandelbrot [pixels per side] [file.pgm]\n");
    return 2;
  }

  int* rows_drawn = calloc((size_t)omp_get_max_threads(), sizeof *rows_drawn);
  const double start = omp_get_wtime();
#pragma omp parallel for schedule(dynamic)
  for (int row = 0; row < side; row++) {
    draw_row(picture + (size_t)row * (size_t)side, side, row);
    rows_drawn[omp_get_thread_num()]++;
  }
  const double seconds = omp_get_wtime() - start;

  unsigned long expected = 0;
  int rows_total = 0;
  for (int row = 0; row < side; row++) draw_row(reference + (size_t)row * (size_t)side, side, row);
  for (size_t i = 0; i < pixels; i++) expected += reference[i] * (i + 1);
  for (int i = 0; i < omp_get_max_threads(); i++) rows_total += rows_drawn[i];

  const unsigned long sum = checksum(picture, pixels);
  const int equal = memcmp(picture, reference, pixels * sizeof *picture) == 0;
  int verified = equal && sum == expected && rows_total == side;
  printf("mandelbrot: %d x %d pixels, %d threads\n", side, side, omp_get_max_threads());
  printf("checksum %lu, expected %lu, pixels %s\n", sum, expected, equal ? "equal" : "DIFFER");
  if (argc > 2 && !write_picture(argv[2], picture, side)) {
    fprintf(stderr, "mandelbrot: cannot write %s\n", argv[2]);
    verified = 0;
  }
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  free(rows_drawn);
  free(reference);
  free(picture);
  return verified ? 0 : 1;
}
