// A graph built by fetch-and-add and searched by compare-and-swap. Edges are drawn as the specification of
// Graph500 says (R-MAT: quadrants with the probabilities 0.57, 0.19, 0.19 and 0.05, vertices then renamed).
// The graph is stored as adjacency lists; each thread takes slots of a list by an atomic increment. The
// breadth-first search goes level by level: a thread claims a vertex by compare-and-swap on its parent, and
// takes its place in the next level by an atomic increment. The parents are verified as the specification
// demands, with the levels of a search by one thread. Usage: graph [scale] [searches]; a graph has 2^scale
// vertices and 16 times as many edges. `time` is that of building plus searching.

#include "nas.h"

#define EDGES_PER_VERTEX 16
#define SCALE_MAX 26
#define NONE INT64_C(-1)

static int64_t vertices, edges;
static int64_t *from, *to;             // edges as drawn
static int64_t *first, *fill, *lists;  // list of v: lists[first[v]] .. lists[first[v + 1]]
static int64_t *parent, *level, *queue, *next_queue;
static int64_t next_length;

// Mixes the bits of a number (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

// A permutation of the numbers below 2^scale: each step is invertible.
static int64_t rename_vertex(uint64_t vertex, int scale) {
  const uint64_t mask = (UINT64_C(1) << scale) - 1;
  for (int turn = 0; turn < 3; turn++) {
    vertex = (vertex * UINT64_C(0x9e3779b97f4a7c15) + 12345) & mask;
    vertex ^= vertex >> (scale / 2 + 1);
  }
  return (int64_t)vertex;
}

static void draw_edges(int scale) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < edges; e++) {
    uint64_t ends[2] = {0, 0};
    for (int bit = 0; bit < scale; bit++) {
      const double place = 0x1p-53 * (double)(mix((uint64_t)e * SCALE_MAX + (uint64_t)bit) >> 11);
      ends[0] |= (uint64_t)(place >= 0.76) << bit;
      ends[1] |= (uint64_t)((place >= 0.57 && place < 0.76) || place >= 0.95) << bit;
    }
    from[e] = rename_vertex(ends[0], scale);
    to[e] = rename_vertex(ends[1], scale);
  }
}

static void build(void) {
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v <= vertices; v++) first[v] = 0;
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < edges; e++) {
#pragma omp atomic
    first[from[e] + 1]++;
#pragma omp atomic
    first[to[e] + 1]++;
  }
  for (int64_t v = 0; v < vertices; v++) first[v + 1] += first[v];
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < vertices; v++) fill[v] = first[v];
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < edges; e++) {
    int64_t slot;
#pragma omp atomic capture
    slot = fill[from[e]]++;
    lists[slot] = to[e];
#pragma omp atomic capture
    slot = fill[to[e]]++;
    lists[slot] = from[e];
  }
}

static void search_from(int64_t v) {
  for (int64_t i = first[v]; i < first[v + 1]; i++) {
    const int64_t w = lists[i];
    int64_t none = NONE;
    if (__atomic_load_n(&parent[w], __ATOMIC_RELAXED) != NONE) continue;
    if (!__atomic_compare_exchange_n(&parent[w], &none, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
    int64_t place;
#pragma omp atomic capture
    place = next_length++;
    next_queue[place] = w;
  }
}

// Fills `parent`; returns the number of levels.
static int search(int64_t root) {
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < vertices; v++) parent[v] = NONE;
  parent[root] = root;
  queue[0] = root;
  int levels = 0;
  for (int64_t length = 1; length > 0; levels++) {
    next_length = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < length; i++) search_from(queue[i]);
    length = next_length;
    int64_t* swapped = queue;
    queue = next_queue;
    next_queue = swapped;
  }
  return levels;
}

// Computes the levels of all vertices with one thread, from the edges as drawn; returns the number of levels.
static int find_levels(int64_t root) {
  for (int64_t v = 0; v < vertices; v++) level[v] = NONE;
  level[root] = 0;
  int levels = 1;
  for (int changed = 1; changed; levels++) {
    changed = 0;
    for (int64_t e = 0; e < edges; e++) {
      for (int side = 0; side < 2; side++) {
        const int64_t near = side == 0 ? from[e] : to[e];
        const int64_t far = side == 0 ? to[e] : from[e];
        if (level[near] != levels - 1 || level[far] != NONE) continue;
        level[far] = levels;
        changed = 1;
      }
    }
  }
  return levels - 1;
}

// Each reached vertex has a parent one level above it, with an edge between them: tree edges are counted in a
// pass over all edges as drawn.
static int64_t count_wrong(int64_t root) {
  int64_t wrong = 0;
  unsigned char* joined = nas_allocate((size_t)vertices, 1);
  for (int64_t e = 0; e < edges; e++) {
    if (parent[from[e]] == to[e]) joined[from[e]] = 1;
    if (parent[to[e]] == from[e]) joined[to[e]] = 1;
  }
  for (int64_t v = 0; v < vertices; v++) {
    if (v == root) continue;
    if (level[v] == NONE) {
      wrong += parent[v] != NONE;
    } else {
      wrong += parent[v] == NONE || !joined[v] || level[parent[v]] != level[v] - 1;
    }
  }
  free(joined);
  return wrong + (parent[root] != root);
}

static void allocate(void) {
  from = nas_allocate((size_t)edges, sizeof *from);
  to = nas_allocate((size_t)edges, sizeof *to);
  first = nas_allocate((size_t)vertices + 1, sizeof *first);
  fill = nas_allocate((size_t)vertices, sizeof *fill);
  lists = nas_allocate(2 * (size_t)edges, sizeof *lists);
  parent = nas_allocate((size_t)vertices, sizeof *parent);
  level = nas_allocate((size_t)vertices, sizeof *level);
  queue = nas_allocate((size_t)vertices, sizeof *queue);
  next_queue = nas_allocate((size_t)vertices, sizeof *next_queue);
}

int main(int argc, char** argv) {
  const int scale = argc > 1 ? atoi(argv[1]) : 18;
  const int searches = argc > 2 ? atoi(argv[2]) : 4;
  if (scale < 4 || scale > SCALE_MAX || searches < 1 || searches > 1000) {
    fprintf(stderr, "usage: graph [scale, 4 to %d] [searches, 1 to 1000]\n", SCALE_MAX);
    return 2;
  }
  vertices = INT64_C(1) << scale;
  edges = EDGES_PER_VERTEX * vertices;
  allocate();
  draw_edges(scale);

  const double start = omp_get_wtime();
  build();
  const double built = omp_get_wtime() - start;
  double searched = 0.0;
  int64_t wrong = 0;
  for (int i = 0; i < searches; i++) {
    const int64_t root = from[edges / searches * i];
    const double before = omp_get_wtime();
    const int levels = search(root);
    searched += omp_get_wtime() - before;
    wrong += find_levels(root) != levels;
    wrong += count_wrong(root);
  }
  printf("graph: %lld vertices, %lld edges, %d searches, %d threads\n", (long long)vertices, (long long)edges,
         searches, omp_get_max_threads());
  printf("wrong vertices %lld\n", (long long)wrong);
  printf("build %.6f s\n", built);
  printf("search %.6f s\n", searched);
  return nas_finish(wrong == 0, built + searched, (double)edges * (1 + searches));
}
