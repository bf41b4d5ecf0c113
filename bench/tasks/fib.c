// Fibonacci numbers by their definition: a task for the first summand of each sum, until the argument is
// small. Usage: fib [number] [largest argument without tasks].

#include "../apps/nas.h"

static int alone_max;

static int64_t fib_alone(int n) {
  return n < 2 ? n : fib_alone(n - 1) + fib_alone(n - 2);
}

static int64_t fib(int n) {
  if (n <= alone_max || n < 2) return fib_alone(n);
  int64_t first, second;
#pragma omp task shared(first) firstprivate(n)
  first = fib(n - 1);
  second = fib(n - 2);
#pragma omp taskwait
  return first + second;
}

static int64_t expected(int n) {
  int64_t before = 1, now = 0;
  for (int i = 0; i < n; ++i) {
    const int64_t next = before + now;
    before = now;
    now = next;
  }
  return now;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 35;
  alone_max = argc > 2 ? atoi(argv[2]) : 20;
  if (n < 0 || n > 60 || alone_max < 0) {
    fprintf(stderr, "usage: fib [number, 0 to 60] [largest argument without tasks]\n");
    return 2;
  }
  int64_t result = 0;
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  result = fib(n);
  const double seconds = omp_get_wtime() - start;
  printf("fib(%d) = %lld, %d threads\n", n, (long long)result, omp_get_max_threads());
  return nas_finish(result == expected(n), seconds, (double)result);
}
