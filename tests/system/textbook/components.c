// Components by plain stores of smaller labels until nothing changes. The stores race; a label is sometimes
// lost and stored again. No word is ever torn, so each label is the number of a vertex of its component.
#include "textbook.h"

enum { vertices = 20000, edges = 40000, part = 2500 };

static int from[edges], to[edges], labels[vertices], parents[vertices];
static long wide_labels[vertices];

static int root(int vertex) {
  while (parents[vertex] != vertex) vertex = parents[vertex] = parents[parents[vertex]];
  return vertex;
}

static void find_expected(void) {
  for (int i = 0; i < vertices; ++i) parents[i] = i;
  for (int i = 0; i < edges; ++i) {
    const int a = root(from[i]), b = root(to[i]);
    if (a < b) parents[b] = a;
    if (b < a) parents[a] = b;
  }
  for (int i = 0; i < vertices; ++i) parents[i] = root(i);
}

// Result: whether it came to an end.
#define DEFINE_SPREAD(name, type)                                   \
  static bool name(type* label) {                                   \
    int changed = 1;                                                \
    for (int turns = 0; changed; ++turns) {                         \
      if (turns == 500) return false;                               \
      changed = 0;                                                  \
      _Pragma("omp parallel for") for (int i = 0; i < edges; ++i) { \
        const type a = label[from[i]], b = label[to[i]];            \
        if (a < b) {                                                \
          label[to[i]] = a;                                         \
          changed = 1;                                              \
        } else if (b < a) {                                         \
          label[from[i]] = b;                                       \
          changed = 1;                                              \
        }                                                           \
      }                                                             \
    }                                                               \
    return true;                                                    \
  }

DEFINE_SPREAD(spread, int)
DEFINE_SPREAD(spread_wide, long)

int main(void) {
  long wrong = 0;
  for (int i = 0; i < edges; ++i) {
    from[i] = (int)next_random(vertices);
    to[i] = from[i] / part * part + (int)next_random(part);
  }
  find_expected();
  for (int i = 0; i < vertices; ++i) labels[i] = i;
  for (int i = 0; i < vertices; ++i) wide_labels[i] = i;
  wrong += !spread(labels);
  wrong += !spread_wide(wide_labels);
  for (int i = 0; i < vertices; ++i) wrong += (labels[i] != parents[i]) + (wide_labels[i] != parents[i]);
  return finish(wrong);
}
