// Gather and scatter over the edges of an unstructured mesh: each edge reads the values of its two nodes, and
// moves its flow from one node to the other, once with `omp atomic`, once under locks, each of which guards
// some nodes. The nodes form a grid; each has edges to its neighbours in a cube and a few to nodes farther
// away, and the nodes are numbered in an order that keeps most neighbours near. The values stay whole
// numbers, so all sums are known exactly. Usage: mesh [nodes on a side] [turns]. `atomic` and `locks` are the
// times of all turns with atomics and with locks.

#include "nas.h"

#define FAR_EVERY 8  // one in so many nodes has an edge to a node far away
#define LOCKS 1024
#define NODES_PER_LOCK 64
#define VALUES 97

static int64_t side, nodes, edges;
static int64_t (*ends)[2];
static double *values, *sums, *expected;
static omp_lock_t locks[LOCKS];

static void add_edge(int64_t a, int64_t b) {
  ends[edges][0] = a;
  ends[edges][1] = b;
  edges++;
}

static void make_mesh(void) {
  uint64_t state = NAS_SEED;
  for (int64_t node = 0; node < nodes; node++) {
    const int64_t x = node % side;
    const int64_t y = node / side % side;
    const int64_t z = node / side / side;
    if (x + 1 < side) add_edge(node, node + 1);
    if (y + 1 < side) add_edge(node, node + side);
    if (z + 1 < side) add_edge(node, node + side * side);
    if (x + 1 < side && y + 1 < side) add_edge(node, node + side + 1);
    const int64_t far = (int64_t)(nas_random(&state) * (double)nodes);
    if (node % FAR_EVERY == 0 && far != node) add_edge(node, far);
  }
}

static double flow(int64_t edge, int turn) {
  return values[ends[edge][0]] - values[ends[edge][1]] + turn;
}

static void add_by_atomics(int turn) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < edges; e++) {
    const double through = flow(e, turn);
#pragma omp atomic
    sums[ends[e][0]] += through;
#pragma omp atomic
    sums[ends[e][1]] -= through;
  }
}

static void add_locked(int64_t node, double amount) {
  omp_lock_t* lock = &locks[node / NODES_PER_LOCK % LOCKS];
  omp_set_lock(lock);
  sums[node] += amount;
  omp_unset_lock(lock);
}

static void add_by_locks(int turn) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < edges; e++) {
    const double through = flow(e, turn);
    add_locked(ends[e][0], through);
    add_locked(ends[e][1], -through);
  }
}

static void clear_sums(void) {
#pragma omp parallel for schedule(static)
  for (int64_t node = 0; node < nodes; node++) sums[node] = 0.0;
}

static void expect(int turns) {
  for (int64_t node = 0; node < nodes; node++) expected[node] = 0.0;
  for (int turn = 0; turn < turns; turn++) {
    for (int64_t e = 0; e < edges; e++) {
      expected[ends[e][0]] += flow(e, turn);
      expected[ends[e][1]] -= flow(e, turn);
    }
  }
}

static int64_t count_wrong(void) {
  int64_t wrong = 0;
  for (int64_t node = 0; node < nodes; node++) wrong += sums[node] != expected[node];
  return wrong;
}

static double time_turns(void (*add)(int turn), int turns) {
  clear_sums();
  const double start = omp_get_wtime();
  for (int turn = 0; turn < turns; turn++) add(turn);
  return omp_get_wtime() - start;
}

int main(int argc, char** argv) {
  side = argc > 1 ? atoll(argv[1]) : 48;
  const int turns = argc > 2 ? atoi(argv[2]) : 4;
  if (side < 2 || side > 1024 || turns < 1 || turns > 100000) {
    fprintf(stderr, "usage: mesh [nodes on a side, 2 to 1024] [turns]\n");
    return 2;
  }
  nodes = side * side * side;
  ends = nas_allocate(5 * (size_t)nodes, sizeof *ends);
  values = nas_allocate((size_t)nodes, sizeof *values);
  sums = nas_allocate((size_t)nodes, sizeof *sums);
  expected = nas_allocate((size_t)nodes, sizeof *expected);
  make_mesh();
  for (int64_t node = 0; node < nodes; node++) values[node] = (double)(node % VALUES);
  for (int i = 0; i < LOCKS; i++) omp_init_lock(&locks[i]);
  expect(turns);

  const double by_atomics = time_turns(add_by_atomics, turns);
  const int64_t wrong = count_wrong();
  const double by_locks = time_turns(add_by_locks, turns);
  const int64_t wrong_locked = count_wrong();
  for (int i = 0; i < LOCKS; i++) omp_destroy_lock(&locks[i]);
  printf("mesh: %lld nodes, %lld edges, %d turns, %d threads\n", (long long)nodes, (long long)edges, turns,
         omp_get_max_threads());
  printf("wrong nodes %lld with atomics, %lld with locks\n", (long long)wrong, (long long)wrong_locked);
  printf("atomic %.6f s\n", by_atomics);
  printf("locks %.6f s\n", by_locks);
  return nas_finish(wrong == 0 && wrong_locked == 0, by_atomics + by_locks, 4.0 * (double)edges * turns);
}
