// A task queue: partial placements of queens on a board, in a ring guarded by a lock. A thread takes a
// placement from the ring; near the root of the tree it puts back all placements with one more queen, farther
// down it counts the completions by itself. The counts are known (OEIS A000170). Usage: queens [side of the
// board] [rows that go through the queue].

#include "nas.h"

#define SIDE_MAX 16
#define RING 65536

// Columns and diagonals that are taken, seen from the next row.
struct placement {
  uint32_t row, columns, left, right;
};

static const int64_t counts[SIDE_MAX + 1] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                             352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

static uint32_t side, queued_rows;
static struct placement ring[RING];
static int64_t head, tail, unfinished;  // placements that are in the ring or being worked on
static int64_t found, taken;
static omp_lock_t lock;

static uint32_t free_columns(const struct placement* placement) {
  return ~(placement->columns | placement->left | placement->right) & ((UINT32_C(1) << side) - 1);
}

static struct placement place(const struct placement* placement, uint32_t queen) {
  return (struct placement){placement->row + 1, placement->columns | queen, (placement->left | queen) << 1,
                            (placement->right | queen) >> 1};
}

static int64_t count_below(const struct placement* placement) {
  if (placement->row == side) return 1;
  int64_t sum = 0;
  for (uint32_t columns = free_columns(placement); columns != 0; columns &= columns - 1) {
    const struct placement next = place(placement, columns & -columns);
    sum += count_below(&next);
  }
  return sum;
}

// Takes a placement. Result: 1, 0 when the ring is empty at the moment, -1 when all work is done.
static int take(struct placement* placement) {
  omp_set_lock(&lock);
  const int result = head < tail ? 1 : unfinished > 0 ? 0 : -1;
  if (result == 1) *placement = ring[head++ % RING];
  omp_unset_lock(&lock);
  return result;
}

static void finish(const struct placement* next, int count, int64_t solutions) {
  omp_set_lock(&lock);
  for (int i = 0; i < count; i++) ring[tail++ % RING] = next[i];
  unfinished += count - 1;
  found += solutions;
  taken++;
  omp_unset_lock(&lock);
}

static void work(void) {
  struct placement now = {0, 0, 0, 0};
  for (int got = take(&now); got != -1; got = take(&now)) {
    if (got == 0) continue;
    struct placement next[SIDE_MAX];
    int count = 0;
    int64_t solutions = 0;
    if (now.row < queued_rows) {
      for (uint32_t columns = free_columns(&now); columns != 0; columns &= columns - 1)
        next[count++] = place(&now, columns & -columns);
    } else {
      solutions = count_below(&now);
    }
    finish(next, count, solutions);
  }
}

int main(int argc, char** argv) {
  side = argc > 1 ? (uint32_t)atoi(argv[1]) : 14;
  queued_rows = argc > 2 ? (uint32_t)atoi(argv[2]) : 4;
  if (side < 1 || side > SIDE_MAX || queued_rows < 1 || queued_rows > 4) {
    fprintf(stderr, "usage: queens [side, 1 to %d] [rows in the queue, 1 to 4]\n", SIDE_MAX);
    return 2;
  }
  omp_init_lock(&lock);
  ring[tail++] = (struct placement){0, 0, 0, 0};
  unfinished = 1;
  const double start = omp_get_wtime();
#pragma omp parallel
  work();
  const double seconds = omp_get_wtime() - start;
  omp_destroy_lock(&lock);
  printf("queens: board of %u, %lld tasks, %d threads\n", side, (long long)taken, omp_get_max_threads());
  printf("found %lld, expected %lld\n", (long long)found, (long long)counts[side]);
  return nas_finish(found == counts[side], seconds, (double)taken);
}
