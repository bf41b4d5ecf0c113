// Counts the nodes of a tree whose shape is known only when it is searched, as "UTS: An Unbalanced Tree
// Search Benchmark" (Olivier et al., 2006) describes it, with a generator of its own: each child's state is a
// mix of its parent's state and its number. Binomial: the root has 2000 children, all other nodes have 8 or
// none. Geometric: a mean of 4 children down to a depth. A task per node; its work is mixing. Usage:
// unbalanced [binomial|geometric] [per mille of leaves less than critical | depth] [mixes per node].

#include "../apps/nas.h"

enum { root_children = 2000, branches = 8, children_max = root_children };

static int binomial, depth_max, mixes;
static double probability;  // that a node of the binomial tree has children

static uint64_t mix(uint64_t state) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
  return state ^ (state >> 31);
}

// The work of the node has no influence on the tree.
static uint64_t child_state(uint64_t state, int child) {
  state = mix(state ^ ((uint64_t)(child + 1) * UINT64_C(0xd1342543de82ef95)));
  uint64_t worked = state;
  for (int i = 0; i < mixes; ++i) worked = mix(worked);
  return worked == 0 ? 0 : state;
}

static int children_of(uint64_t state, int depth) {
  const double uniform = 0x1p-53 * (double)(state >> 11);
  if (binomial) return depth == 0 ? root_children : uniform < probability ? branches : 0;
  if (depth >= depth_max) return 0;
  const double mean = 4;
  const double count = floor(log(1 - uniform) / log(1 - 1 / (1 + mean)));
  return count > 100 ? 100 : (int)count;
}

static int64_t count_alone(uint64_t state, int depth) {
  const int children = children_of(state, depth);
  int64_t sum = 1;
  for (int i = 0; i < children; ++i) sum += count_alone(child_state(state, i), depth + 1);
  return sum;
}

static int64_t count(uint64_t state, int depth) {
  const int children = children_of(state, depth);
  int64_t counts[children > 0 ? children : 1];
  for (int i = 0; i < children; ++i) {
#pragma omp task shared(counts) firstprivate(state, depth, i)
    counts[i] = count(child_state(state, i), depth + 1);
  }
#pragma omp taskwait
  int64_t sum = 1;
  for (int i = 0; i < children; ++i) sum += counts[i];
  return sum;
}

int main(int argc, char** argv) {
  binomial = argc < 2 || strcmp(argv[1], "binomial") == 0;
  const int shape = argc > 2 ? atoi(argv[2]) : binomial ? 1 : 10;
  mixes = argc > 3 ? atoi(argv[3]) : 10;
  depth_max = shape;
  probability = (1 - shape / 1000.0) / branches;
  if ((!binomial && strcmp(argv[1], "geometric") != 0) || shape < 1 || shape > (binomial ? 1000 : 16)) {
    fprintf(stderr, "usage: unbalanced [binomial|geometric] [1 to 1000|1 to 16] [mixes per node]\n");
    return 2;
  }
  const uint64_t root = mix(binomial ? 42 : 19);
  int64_t nodes = 0;
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  nodes = count(root, 0);
  const double seconds = omp_get_wtime() - start;
  printf("%s tree of %lld nodes, %d threads\n", binomial ? "binomial" : "geometric", (long long)nodes,
         omp_get_max_threads());
  return nas_finish(nodes == count_alone(root, 0), seconds, (double)nodes);
}
