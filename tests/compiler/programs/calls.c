/* The calls of checked loops: each kernel with the entries it must call, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "src/checks/abi.h"

enum {
  READ = MUSUBI_CHECKS_ENTRY_READ_RANGE,
  WRITE = MUSUBI_CHECKS_ENTRY_WRITE_RANGE,
  OVERWRITE = MUSUBI_CHECKS_ENTRY_OVERWRITE,
  N = 8192, /* doubles per array */
};

static double a[N] __attribute__((aligned(4096))), b[N] __attribute__((aligned(4096)));
static int failures;

struct Expected {
  unsigned entry;
  const void* address;
  size_t bytes;
};

static void close_all(void) {
  for (int i = 0; i < N; ++i) a[i] = i, b[i] = -i;
  recorder_close(a, sizeof a);
  recorder_close(b, sizeof b);
}

static void expect(const char* name, const struct Expected* expected, unsigned count) {
  int same = recorder_count == count;
  for (unsigned i = 0; same && i < count; ++i) {
    const struct RecordedCall* call = &recorder_calls[i];
    same = call->entry == expected[i].entry && call->address == (uintptr_t)expected[i].address &&
           call->bytes == expected[i].bytes;
  }
  if (same) return;
  ++failures;
  printf("%s: %u calls, expected %u\n", name, recorder_count, count);
  for (unsigned i = 0; i < recorder_count && i < 8; ++i)
    printf("  entry %u at a%+ld, b%+ld, %lu bytes\n", recorder_calls[i].entry,
           (long)(recorder_calls[i].address - (uintptr_t)a), (long)(recorder_calls[i].address - (uintptr_t)b),
           recorder_calls[i].bytes);
}
#define EXPECT(name, ...)                              \
  do {                                                 \
    const struct Expected calls[] = {__VA_ARGS__};     \
    expect(name, calls, sizeof calls / sizeof *calls); \
  } while (0)
#define EXPECT_NONE(name) expect(name, NULL, 0)

static void expect_value(const char* name, double value, double expected) {
  if (value == expected) return;
  ++failures;
  printf("%s: %g, expected %g\n", name, value, expected);
}

#define KERNEL __attribute__((noinline)) static

KERNEL double sum(const double* x, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
KERNEL double sum_down(const double* x, int n) {
  double s = 0;
  for (int i = n; i-- > 0;) s += x[i];
  return s;
}
KERNEL void scale(double* to, const double* from, double f, int n) {
  for (int i = 0; i < n; ++i) to[i] = f * from[i];
}
KERNEL void add(double* to, double x, int n) {
  for (int i = 0; i < n; ++i) to[i] += x;
}
KERNEL void set_some(double* to, const double* from, int n) {
  for (int i = 0; i < n; ++i)
    if (from[i] > 0) to[i] = 1;
}
KERNEL void fill_rows(double* to, int rows, int columns, int width) {
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k) to[i * width + k] = i + k;
}
KERNEL void fill_square(double* to, int rows) {
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < 128; ++k) to[i * 128 + k] = i + k;
}
KERNEL double sum_some(const double* x, const double* y, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i)
    if (y[i] > 0) s += x[i];
  return s;
}
KERNEL double triangle(const double* x, int rows, int n) {
  double s = 0;
  for (int i = 0; i < rows; ++i)
    for (int k = i; k < n; ++k) s += x[k];
  return s;
}
KERNEL double until(const double* x, int n) {
  double s = 0;
  for (int i = 0; i < n && x[i] < 1000; ++i) s += x[i];
  return s;
}
KERNEL double strided(const double* x, long n, long stride) {
  double s = 0;
  for (long i = 0; i < n; ++i) s += x[i * stride];
  return s;
}
KERNEL void clear(void* to, size_t bytes) {
  memset(to, 0, bytes);
}
KERNEL void copy(double* to, const double* from, size_t bytes) {
  memcpy(to, from, bytes);
}
extern double outside(double);
KERNEL double calls_out(const double* x, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += outside(x[i]);
  return s;
}
/* Many values live over the test: the entry must keep them. */
KERNEL double live(const double* x, const double* y, int n, double p, double q, double r, double s) {
  double t = p * q + r;
  for (int i = 0; i < n; ++i) t += x[i] * p;
  double u = q * r + s;
  for (int i = 0; i < n; ++i) u += y[i] * q;
  return t + u + p + q + r + s;
}

double outside(double x) {
  return x;
}

static void simple_loops(void) {
  close_all();
  expect_value("sum", sum(a, 1000), 499500);
  EXPECT("sum", {READ, a, 8000});
  expect_value("sum again", sum(a, 1000), 499500);
  EXPECT("sum of open memory", {READ, a, 8000});
  close_all();
  sum(a, 0), sum(a, -1), sum(a, -2000000000), sum(a, 10);
  EXPECT_NONE("sums of nothing, and a short one");
  close_all();
  sum_down(a, 1000);
  EXPECT("sum downward", {READ, a, 8000});
  close_all();
  expect_value("until", until(a, N), 499500);
  EXPECT_NONE("a loop that may end earlier");
  close_all();
  expect_value("calls out", calls_out(a, 1000), 499500);
  EXPECT("a call of a function that is free", {READ, a, 8000});
  close_all();
  expect_value("live", live(a, b, 600, 2, 3, 5, 7), 11 + 2 * 179700.0 + 22 - 3 * 179700.0 + 17);
  EXPECT("live", {READ, a, 4800}, {READ, b, 4800});
}

static void writes(void) {
  close_all();
  scale(a, b, 2, 2000);
  EXPECT("scale", {READ, b, 16000}, {OVERWRITE, a, 16000});
  expect_value("scale", a[1999], -3998);
  close_all();
  scale(a, a + 1, 2, 2000);
  EXPECT("scale in place", {READ, a + 1, 16000}, {WRITE, a, 16000});
  expect_value("scale in place", a[0] + a[1999], 4002);
  close_all();
  add(a, 1, 2000);
  EXPECT("add", {WRITE, a, 16000});
  close_all();
  set_some(b, a, 1000);
  EXPECT("set some", {READ, a, 8000});
  close_all();
  clear(a, 20000), clear(a, 0), clear(b, 100);
  EXPECT("clear", {OVERWRITE, a, 20000});
  close_all();
  copy(a, b, 16000);
  EXPECT("copy", {READ, b, 16000}, {OVERWRITE, a, 16000});
  expect_value("copy", a[1999], -1999);
  close_all();
  copy(a, a, 16000);
  EXPECT("copy onto itself", {READ, a, 16000}, {WRITE, a, 16000});
  expect_value("copy onto itself", a[1999], 1999);
}

static void nests(void) {
  close_all();
  fill_square(a, 64);
  EXPECT("rows that touch", {OVERWRITE, a, 65536});
  expect_value("rows that touch", a[63 * 128 + 127], 190);
  close_all();
  fill_rows(a, 4, 1000, 2000);
  EXPECT("rows apart", {OVERWRITE, a, 8000}, {OVERWRITE, a + 2000, 8000}, {OVERWRITE, a + 4000, 8000},
         {OVERWRITE, a + 6000, 8000});
  close_all();
  fill_rows(a, -1, 1000, 2000), fill_rows(a, 4, 0, 2000), fill_rows(a, 4, -7, 2000);
  EXPECT_NONE("rows of nothing");
  close_all();
  triangle(a, 100, 1000);
  EXPECT("triangle", {READ, a, 8000});
  close_all();
  triangle(a, 100, 0), triangle(a, 100, -5), triangle(a, 0, 1000);
  EXPECT_NONE("triangles of nothing");
  close_all();
  strided(a, 100, 2);
  EXPECT("dense stride", {READ, a, 99 * 16 + 8});
  close_all();
  strided(a, 10, 800);
  EXPECT_NONE("sparse stride");
  close_all();
  strided(a + 1000, 100, -3);
  EXPECT("stride downward", {READ, a + 703, 99 * 24 + 8});
}

/* Addresses that are none: loops that touch nothing there, and whose bounds wrap. */
static void no_addresses(void) {
  close_all();
  double* high = (double*)0x7ffffffffff0; /* ends above 2^47 */
  double* wrong = (double*)0xfffffffffffff000;
  expect_value("high", sum(high, 0) + sum(wrong, -3), 0);
  clear(wrong, 0);
  copy(wrong, high, 0);
  for (int i = 0; i < N; ++i) a[i] = -1;
  recorder_close(a, sizeof a);
  set_some(wrong, a, 1000);
  sum_some(wrong, a, 1000), sum_some(high, a, 1000);
  EXPECT("no addresses", {READ, a, 8000});
}

int main(void) {
  simple_loops();
  writes();
  nests();
  no_addresses();
  printf("%d failures\n", failures);
  return failures != 0;
}
