// Shortest paths by plain stores of minima, as graph codes relax their edges: lengths of 8 bytes race, and
// every length that is read was stored. In the same loop adjacent marks of 2 bytes belong to one thread each.
// So neither bytes nor words are right for both: each array has its own width. Variants: arrays on the heap,
// static ones, and fields of one structure.
#include "check.h"

enum { vertices = 20000, edges = 60000, turns_max = 3000 };

struct node {
  long length;
  short mark;
  char kind;
};

static const long far = 1L << 60;
static int from[edges], to[edges];
static long static_lengths[vertices], expected[vertices];
static short static_marks[vertices];

static unsigned next_random(void) {
  static unsigned state = 7;
  state = state * 1664525u + 1013904223u;
  return (state >> 7) % vertices;
}

// Weights that differ in each byte of the sum.
static long weight(int edge) {
  return (1L << edge % 5 * 9) + edge % 7;
}

static void find_expected(void) {
  for (int i = 0; i < vertices; ++i) expected[i] = far;
  expected[from[0]] = 0;
  for (int changed = 1; changed;) {
    changed = 0;
    for (int e = 0; e < edges; ++e) {
      const long length = expected[from[e]] + weight(e);
      if (length >= far || length >= expected[to[e]]) continue;
      expected[to[e]] = length;
      changed = 1;
    }
  }
}

#define DEFINE_WAYS(name, parameters, LENGTH, MARK)                                     \
  static void name parameters {                                                         \
    for (int i = 0; i < vertices; ++i) LENGTH(i) = i == from[0] ? 0 : far;              \
    int turn = 0;                                                                       \
    for (int changed = 1; changed; ++turn) {                                            \
      CHECK(turn < turns_max);                                                          \
      changed = 0;                                                                      \
      _Pragma("omp parallel for schedule(static, 7)") for (int e = 0; e < edges; ++e) { \
        const long length = LENGTH(from[e]) + weight(e);                                \
        if (length < far && length < LENGTH(to[e])) {                                   \
          LENGTH(to[e]) = length;                                                       \
          changed = 1;                                                                  \
        }                                                                               \
        if (e < vertices) MARK(e) = (short)(e * 7 + turn);                              \
      }                                                                                 \
      for (int i = 0; i < vertices; ++i) CHECK(MARK(i) == (short)(i * 7 + turn));       \
    }                                                                                   \
    for (int i = 0; i < vertices; ++i) CHECK(LENGTH(i) == expected[i]);                 \
  }

#define LENGTH_OF_ARRAY(i) lengths[i]
#define MARK_OF_ARRAY(i) marks[i]
#define STATIC_LENGTH(i) static_lengths[i]
#define STATIC_MARK(i) static_marks[i]
#define LENGTH_OF_NODE(i) nodes[i].length
#define MARK_OF_NODE(i) nodes[i].mark
DEFINE_WAYS(find_on_heap, (long* lengths, short* marks), LENGTH_OF_ARRAY, MARK_OF_ARRAY)
DEFINE_WAYS(find_in_statics, (void), STATIC_LENGTH, STATIC_MARK)
DEFINE_WAYS(find_in_nodes, (struct node * nodes), LENGTH_OF_NODE, MARK_OF_NODE)

int main(void) {
  for (int i = 0; i < edges; ++i) {
    from[i] = (int)next_random();
    to[i] = (int)next_random();
  }
  find_expected();
  long* const lengths = malloc(vertices * sizeof *lengths);
  short* const marks = malloc(vertices * sizeof *marks);
  struct node* const nodes = calloc(vertices, sizeof *nodes);
  find_on_heap(lengths, marks);
  find_in_statics();
  find_in_nodes(nodes);
  free(lengths);
  free(marks);
  free(nodes);
  puts("all ways are the shortest");
  return 0;
}
