// Connected components by hooking, as graph codes do it: all threads store plainly to an array of labels,
// without synchronisation. On hardware that is benign, since no aligned word is ever torn: every label that
// is read was stored. Variants: labels of 4 and 8 bytes, in static memory and on the heap.
#include "check.h"

enum { vertices = 70000, edges = 160000 };

static int from[edges], to[edges], expected[vertices];
static int static_labels[vertices];

static unsigned long long state = 88172645463325252ull;
static unsigned next_random(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)((state >> 20) % below);
}

// Components of many sizes: edges stay inside parts of the vertices.
static void make_edges(void) {
  for (int i = 0; i < edges; ++i) {
    const int part = 1 << (4 + i % 12);
    const int base = (int)next_random((unsigned)(vertices / part)) * part;
    from[i] = base + (int)next_random((unsigned)part);
    to[i] = base + (int)next_random((unsigned)part);
  }
}

static int root(int vertex) {
  while (expected[vertex] != vertex) vertex = expected[vertex] = expected[expected[vertex]];
  return vertex;
}

static void find_expected(void) {
  for (int i = 0; i < vertices; ++i) expected[i] = i;
  for (int i = 0; i < edges; ++i) {
    const int a = root(from[i]), b = root(to[i]);
    if (a < b) expected[b] = a;
    if (b < a) expected[a] = b;
  }
  for (int i = 0; i < vertices; ++i) expected[i] = root(i);
}

#define DEFINE_COMPONENTS(name, label)                                            \
  static int name(label* labels) {                                                \
    int rounds = 0;                                                               \
    _Bool changed = 1;                                                            \
    _Pragma("omp parallel for") for (int i = 0; i < vertices; ++i) labels[i] = i; \
    while (changed) {                                                             \
      changed = 0;                                                                \
      ++rounds;                                                                   \
      _Pragma("omp parallel for") for (int i = 0; i < edges; ++i) {               \
        const label a = labels[from[i]], b = labels[to[i]];                       \
        CHECK(a >= 0 && a < vertices && b >= 0 && b < vertices);                  \
        const label low = a < b ? a : b, high = a < b ? b : a;                    \
        if (low != high && labels[high] == high) {                                \
          labels[high] = low;                                                     \
          changed = 1;                                                            \
        }                                                                         \
      }                                                                           \
      _Pragma("omp parallel for") for (int i = 0; i < vertices; ++i) {            \
        for (int steps = 0; labels[i] != labels[labels[i]]; ++steps) {            \
          CHECK(steps < vertices);                                                \
          labels[i] = labels[labels[i]];                                          \
        }                                                                         \
      }                                                                           \
      CHECK(rounds < 1000);                                                       \
    }                                                                             \
    for (int i = 0; i < vertices; ++i) CHECK(labels[i] == expected[i]);           \
    return rounds;                                                                \
  }

DEFINE_COMPONENTS(components, int)
DEFINE_COMPONENTS(wide_components, long)

int main(void) {
  make_edges();
  find_expected();
  int* labels = malloc(vertices * sizeof *labels);
  long* wide = malloc(vertices * sizeof *wide);
  for (int round = 0; round < 5; ++round) {
    components(static_labels);
    components(labels);
    wide_components(wide);
  }
  free(labels);
  free(wide);
  puts("the components are right");
  return 0;
}
