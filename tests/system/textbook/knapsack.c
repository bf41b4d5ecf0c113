// The knapsack, row by row: values are ints, the choice of each item at each capacity a byte. And subset
// sums: which can be reached, in bools.
#include "textbook.h"

enum { items = 60, capacity = 2003 };

static int weights[items], worths[items];
static int best[2][capacity + 1], expected_best[2][capacity + 1];
static char taken[items][capacity + 1], expected_taken[items][capacity + 1];
static bool reached[2][capacity + 1], expected_reached[2][capacity + 1];

static void choose(int item, int room, int (*to)[capacity + 1], char (*choice)[capacity + 1]) {
  const int* const before = to[item % 2];
  int* const after = to[(item + 1) % 2];
  const int with = room >= weights[item] ? before[room - weights[item]] + worths[item] : -1;
  choice[item][room] = with > before[room];
  after[room] = with > before[room] ? with : before[room];
}

static void reach(int item, int sum, bool (*to)[capacity + 1]) {
  const bool* const before = to[item % 2];
  to[(item + 1) % 2][sum] = before[sum] || (sum >= weights[item] && before[sum - weights[item]]);
}

int main(void) {
  long wrong = 0;
  for (int i = 0; i < items; ++i) {
    weights[i] = 20 + (int)next_random(80);
    worths[i] = 1 + (int)next_random(1000);
  }
  reached[0][0] = expected_reached[0][0] = true;
  for (int item = 0; item < items; ++item) {
    for (int room = 0; room <= capacity; ++room) {
      choose(item, room, expected_best, expected_taken);
      reach(item, room, expected_reached);
    }
#pragma omp parallel for
    for (int room = 0; room <= capacity; ++room) choose(item, room, best, taken);
#pragma omp parallel for schedule(static, 1)
    for (int sum = 0; sum <= capacity; ++sum) reach(item, sum, reached);
    wrong += count_differences(reached, expected_reached, sizeof reached);
  }
  wrong += count_differences(best, expected_best, sizeof best);
  wrong += count_differences(taken, expected_taken, sizeof taken);
  return finish(wrong);
}
