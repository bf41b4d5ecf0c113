// Search level by level, with bytes for the frontier and for visited vertices. Several vertices of a level
// set the same marks and the same cost.
#include "textbook.h"

enum { vertices = 60000, degree = 6, rounds = 3 };

static char *frontier, *next_frontier, *visited;
static int *cost, *expected, *edges;

static void find_expected(void) {
  int* const queue = malloc(vertices * sizeof *queue);
  int first = 0, last = 0;
  for (int i = 0; i < vertices; ++i) expected[i] = -1;
  queue[last++] = 0;
  expected[0] = 0;
  while (first < last) {
    const int from = queue[first++];
    for (int k = 0; k < degree; ++k) {
      const int to = edges[from * degree + k];
      if (expected[to] >= 0) continue;
      expected[to] = expected[from] + 1;
      queue[last++] = to;
    }
  }
  free(queue);
}

static void search(void) {
  bool again = true;
  while (again) {
    again = false;
#pragma omp parallel for
    for (int from = 0; from < vertices; ++from) {
      if (!frontier[from]) continue;
      frontier[from] = 0;
      for (int k = 0; k < degree; ++k) {
        const int to = edges[from * degree + k];
        if (visited[to]) continue;
        cost[to] = cost[from] + 1;
        next_frontier[to] = 1;
      }
    }
#pragma omp parallel for
    for (int i = 0; i < vertices; ++i) {
      if (!next_frontier[i]) continue;
      frontier[i] = 1;
      visited[i] = 1;
      again = true;
      next_frontier[i] = 0;
    }
  }
}

int main(void) {
  frontier = malloc(vertices);
  next_frontier = malloc(vertices);
  visited = malloc(vertices);
  cost = malloc(vertices * sizeof *cost);
  expected = malloc(vertices * sizeof *expected);
  edges = malloc(sizeof *edges * vertices * degree);
  long wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < vertices * degree; ++i) edges[i] = (int)next_random(vertices);
    find_expected();
    memset(frontier, 0, vertices);
    memset(next_frontier, 0, vertices);
    memset(visited, 0, vertices);
    for (int i = 0; i < vertices; ++i) cost[i] = -1;
    frontier[0] = visited[0] = 1;
    cost[0] = 0;
    search();
    for (int i = 0; i < vertices; ++i) wrong += cost[i] != expected[i] || visited[i] != (expected[i] >= 0);
  }
  return finish(wrong);
}
