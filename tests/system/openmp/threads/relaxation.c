// The Laplace equation on a square by red and black points, until the largest change is small: barriers
// between the colours, a maximum under a lock. The solution x * y is known. Usage: relaxation [threads]
// [points per side].
#include <math.h>

#include "thread_team.h"

static int side, sweeps;
static double* grid;
static double largest, largest_before;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static double* point(long i, long j) {
  return grid + i * side + j;
}

static double relax(long first, long end, int colour) {
  const double factor = 2 / (1 + sin(M_PI / side));
  double change_max = 0;
  for (long i = first; i < end; ++i) {
    for (long j = 1 + (i + colour) % 2; j < side - 1; j += 2) {
      const double mean = (*point(i - 1, j) + *point(i + 1, j) + *point(i, j - 1) + *point(i, j + 1)) / 4;
      const double change = factor * (mean - *point(i, j));
      *point(i, j) += change;
      change_max = fmax(change_max, fabs(change));
    }
  }
  return change_max;
}

static void work(int me, int size) {
  long first, end;
  part_of(side - 2, me, size, &first, &end);
  do {
    double own = 0;
    for (int colour = 0; colour < 2; ++colour) {
      own = fmax(own, relax(first + 1, end + 1, colour));
      pthread_barrier_wait(&barrier);
    }
    pthread_mutex_lock(&guard);
    largest = fmax(largest, own);
    pthread_mutex_unlock(&guard);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
      largest_before = largest;
      largest = 0;
      ++sweeps;
    }
    pthread_barrier_wait(&barrier);
  } while (largest_before > 1e-10);
}

static double solution(int i, int j) {
  return (double)i * j / ((double)side * side);
}

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max);
  side = number_of(argc, argv, 2, 48, 8192);
  grid = calloc((size_t)side * side, sizeof *grid);
  CHECK(grid != NULL && side > 2 && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  for (int i = 0; i < side; ++i) {
    *point(i, side - 1) = solution(i, side - 1);
    *point(side - 1, i) = solution(side - 1, i);
  }
  const double start = seconds();
  run_team(threads, work);
  const double time = seconds() - start;
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) CHECK(fabs(*point(i, j) - solution(i, j)) <= 1e-6);
  }
  printf("relaxation: %d sweeps, %d threads, time %.6f s\n", sweeps, threads, time);
  return 0;
}
