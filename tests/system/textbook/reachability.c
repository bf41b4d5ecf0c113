// Warshall's closure of a relation of bools, and paths of few steps in bytes (Floyd). Row and column of the
// turn are stored again, with the same values, while other threads read them.
#include "textbook.h"

enum { vertices = 131, far_away = 200 };

static bool reaches[vertices][vertices], expected_reaches[vertices][vertices];
static unsigned char steps[vertices][vertices], expected_steps[vertices][vertices];

static void pass(int via, int from, int to, bool (*reach)[vertices]) {
  reach[from][to] = reach[from][to] || (reach[from][via] && reach[via][to]);
}

static void shorten(int via, int from, unsigned char (*step)[vertices]) {
  for (int to = 0; to < vertices; ++to) {
    const int through = step[from][via] + step[via][to];
    if (through < step[from][to]) step[from][to] = (unsigned char)through;
  }
}

int main(void) {
  memset(steps, far_away, sizeof steps);
  for (int i = 0; i < vertices; ++i) {
    steps[i][i] = 0;
    for (int k = 0; k < 2; ++k) {
      const int to = (int)next_random(vertices);
      reaches[i][to] = true;
      if (to != i) steps[i][to] = 1;
    }
  }
  memcpy(expected_reaches, reaches, sizeof reaches);
  memcpy(expected_steps, steps, sizeof steps);
  for (int via = 0; via < vertices; ++via) {
    for (int from = 0; from < vertices; ++from) {
      for (int to = 0; to < vertices; ++to) pass(via, from, to, expected_reaches);
      shorten(via, from, expected_steps);
    }
#pragma omp parallel for collapse(2) schedule(static, 1)
    for (int from = 0; from < vertices; ++from) {
      for (int to = 0; to < vertices; ++to) pass(via, from, to, reaches);
    }
#pragma omp parallel for
    for (int from = 0; from < vertices; ++from) shorten(via, from, steps);
  }
  long wrong = count_differences(reaches, expected_reaches, sizeof reaches);
  wrong += count_differences(steps, expected_steps, sizeof steps);
  return finish(wrong);
}
